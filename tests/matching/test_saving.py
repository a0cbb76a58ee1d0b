"""A model on disk is the model that was saved, or an error, whichever bit flipped and wherever saving ended early."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

import whymatch as wm
from whymatch.cost import Cosine, Cost, RareWords, SharedWords, WordCounts
from whymatch.files import whole_file
from whymatch.learning import Adapter, FineTuned, LinkReader, Projected
from whymatch.matching import saving
from whymatch.matching.saving import from_pretrained
from whymatch.text.vectors import WordVectors

VECTORS = WordVectors(
    "toy", {word: row for row, word in enumerate(["the", "cat", "sat", "dog", "ran"])}, np.eye(5, dtype=np.float32)
)
PAIRS = [("the cat sat", "a dog ran away"), ("it is cold today", "the mat is cold and the dog sat")]
Model = wm.Ranker | wm.Classifier


def with_all_parts() -> Model:
    """A classifier with everything that has a file of its own: word vectors, counted words, a reader."""
    counts = WordCounts.of([text for pair in PAIRS for text in pair])
    cost = Cost(Cosine(), SharedWords(0.3, counts), RareWords(0.4, counts))
    reader = LinkReader(wm.RecurrentEncoder(VECTORS, hidden=3, layers=1, seed=1))
    encoder = wm.RecurrentEncoder(VECTORS, hidden=3, layers=1)
    return wm.Classifier(wm.Aligner("word", encoder, cost), wm.Exactly(2), ["no", "yes"], reader=reader)


def fine_tuned(roberta: Path) -> Model:
    return wm.Ranker(wm.Aligner("word", FineTuned(roberta, device="cpu"), "cosine"), wm.Exactly(1))


def adapted(roberta: Path) -> Model:
    """A ranker with an adapter that has learned something."""
    encoder = FineTuned(roberta, adapter=Adapter(2), device="cpu")
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.add_(weight.requires_grad * 0.1)
    return wm.Ranker(wm.Aligner("word", encoder, "cosine"), wm.Exactly(1))


def frozen(roberta: Path) -> Model:
    return wm.Ranker(
        wm.Aligner("word", Projected(wm.SentenceEncoder(roberta, device="cpu"), 32), "cosine"),
        wm.Exactly(1),
    )


def answers(model: Model) -> list[object]:
    """What a model says of some texts."""
    if isinstance(model, wm.Classifier):
        return [prediction.probabilities for prediction in model.predict(PAIRS)]
    return [model.rank(left, [right]) for left, right in PAIRS]


@pytest.fixture(scope="module")
def saved(roberta: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, list[object]]]:
    """Folders of models of each kind, and what the models say."""
    found = []
    for number, model in enumerate((with_all_parts(), fine_tuned(roberta), adapted(roberta), frozen(roberta))):
        folder = tmp_path_factory.mktemp("saved") / str(number)
        model.eval().save_pretrained(folder)
        (folder / "README.md").write_text("A card.")
        found.append((folder, answers(from_pretrained(folder))))
    return found


@settings(max_examples=120)
@given(data=st.data())
def test_a_flipped_bit_is_an_error_or_changes_nothing(
    data: st.DataObject, saved: list[tuple[Path, list[object]]]
) -> None:
    folder, expected = data.draw(st.sampled_from(saved))
    file = data.draw(st.sampled_from(sorted(path for path in folder.rglob("*") if path.is_file())))
    content = file.read_bytes()
    place = data.draw(st.integers(0, 8 * len(content) - 1))
    flipped = bytearray(content)
    flipped[place // 8] ^= 1 << place % 8
    file.write_bytes(flipped)
    try:
        found, complaint = answers(from_pretrained(folder)), ""
    except ValueError as error:
        found, complaint = [], str(error)
    finally:
        file.write_bytes(content)
    if complaint:
        assert str(folder) in complaint
        assert file.name != "README.md"
    else:
        assert found == expected
        assert file.name in ("README.md", "config.json")  # where the flip may have fallen beyond what a number keeps


@pytest.mark.parametrize("change", ["cut", "longer", "empty", "missing"])
def test_files_that_are_cut_or_missing_are_an_error(change: str, saved: list[tuple[Path, list[object]]]) -> None:
    for folder, _ in saved:
        for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "README.md"):
            content = file.read_bytes()
            file.write_bytes({"cut": content[:-1], "longer": content + b"\n{}"}.get(change, b""))
            if change == "missing":
                file.unlink()
            with pytest.raises(ValueError, match=r"cannot be read|holds no model") as raised:
                from_pretrained(folder)
            assert str(folder) in str(raised.value)
            file.write_bytes(content)


@pytest.mark.parametrize("name", ["added_tokens.json", "adapter_config.json", "more/vocab.txt"])
def test_a_file_too_many_beside_an_encoder_is_an_error(name: str, roberta: Path, tmp_path: Path) -> None:
    fine_tuned(roberta).save_pretrained(tmp_path)
    (tmp_path / "encoder" / name).parent.mkdir(exist_ok=True)
    (tmp_path / "encoder" / name).write_text("{}")
    with pytest.raises(ValueError, match=f"encoder/{name} is not one of its files. Delete it"):
        from_pretrained(tmp_path)


@pytest.mark.parametrize("old", [3, 5, 6, 8, None, "7"])
def test_other_formats_are_refused(old: object, tmp_path: Path) -> None:
    with_all_parts().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "format": old}))
    with pytest.raises(ValueError, match=f"its format is {old!r}, and this version reads 7"):
        from_pretrained(tmp_path)


@pytest.mark.parametrize("name", ["../outside", "/etc/hostname", "encoder/../../outside", "link"])
def test_names_of_files_stay_inside(name: str, tmp_path: Path) -> None:
    folder, outside = tmp_path / "model", tmp_path / "outside"
    outside.write_text("somebody's")
    with_all_parts().save_pretrained(folder)
    (folder / "link").symlink_to(outside)
    config = json.loads((folder / "config.json").read_text())
    config["files"][name] = "0" * 64
    config["sha256"] = saving._digest(config)
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="leads out of"):
        from_pretrained(folder)
    with_all_parts().save_pretrained(folder)  # does not delete what it does not own
    assert outside.read_text() == "somebody's"
    assert from_pretrained(folder)


@pytest.mark.parametrize("name", ["/etc", "../encoder", "~/model", "a/../../b", "./a", "", "a/b/c"])
def test_an_encoder_that_is_not_in_the_folder_is_named_and_no_path(name: str, roberta: Path, tmp_path: Path) -> None:
    frozen(roberta).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["encoder"]["base"] |= {"model": name, "inside": False}
    config["sha256"] = saving._digest(config)
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="is no name of a model on the hub"):
        from_pretrained(tmp_path)


def test_a_folder_holds_the_model_that_was_saved_last(roberta: Path, tmp_path: Path) -> None:
    """Whatever was saved there before, in this process or another; other files stay."""
    (tmp_path / "notes.txt").write_text("mine")
    other = tmp_path.parent / f"{tmp_path.name}-other"
    shutil.copytree(roberta, other)
    tuned = FineTuned(roberta, device="cpu")
    with torch.no_grad():
        tuned.model.embeddings.word_embeddings.weight.mul_(2)
    tuned.write(other)
    for model in (
        frozen(roberta),
        adapted(roberta),
        fine_tuned(roberta),
        with_all_parts(),
        adapted(other),
        frozen(other),
    ):
        model.eval().save_pretrained(tmp_path)
        assert answers(from_pretrained(tmp_path)) == answers(model)
    assert not (tmp_path / "words.json").exists()
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("kind", [frozen, adapted])
def test_a_model_is_saved_into_the_folder_that_it_came_from(
    kind: Callable[[Path], Model], roberta: Path, tmp_path: Path
) -> None:
    kind(roberta).save_pretrained(tmp_path)
    expected = answers(from_pretrained(tmp_path))
    from_pretrained(tmp_path).save_pretrained(tmp_path)
    assert answers(from_pretrained(tmp_path)) == expected


@pytest.mark.parametrize("before", [frozen, lambda roberta: with_all_parts()], ids=["like it", "another"])
def test_a_save_that_ends_early_leaves_a_whole_model_or_an_error(
    before: Callable[[Path], Model], roberta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = before(roberta).eval(), frozen(roberta).eval()
    assert isinstance(new.encoder, Projected)
    with torch.no_grad():
        new.encoder.map.weight.mul_(-1)
    old.save_pretrained(tmp_path / "old")
    new.save_pretrained(tmp_path / "new")
    whole, outcomes = [answers(old), answers(new)], set()
    for place in range(2 + len(json.loads((tmp_path / "new" / "config.json").read_text())["files"])):
        folder = tmp_path / str(place)
        shutil.copytree(tmp_path / "old", folder)
        left = iter(range(place))

        def interrupted(file: Path, *, follow: bool = True, left: Iterator[int] = left) -> AbstractContextManager[Path]:
            if next(left, None) is None:
                raise KeyboardInterrupt
            return whole_file(file)

        with monkeypatch.context() as patched:
            patched.setattr(saving, "whole_file", interrupted)
            patched.setattr("whymatch.files.whole_file", interrupted)
            try:
                new.save_pretrained(folder)
                outcomes.add("saved")
            except KeyboardInterrupt:
                outcomes.add("ended")
        try:
            found, complaint = answers(from_pretrained(folder)), ""
        except ValueError as error:
            found, complaint = [], str(error)
        if complaint:
            outcomes.add("refused")
            assert re.search(r"is not what was written|is missing|is not one of its files", complaint)
        else:
            assert found in whole
        assert not list(folder.glob(".*"))
    assert outcomes == {"saved", "ended", "refused"}


def test_dense_layers_are_saved_with_a_frozen_encoder(roberta: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sentences"
    shutil.copytree(roberta, folder)
    kinds = {"Transformer": "", "Pooling": "1_Pooling", "Dense": "2_Dense"}
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": path} for kind, path in kinds.items()]
    (folder / "modules.json").write_text(json.dumps(modules))
    for place, values in (("1_Pooling", {"pooling_mode": "cls"}), ("2_Dense", {"in_features": 32, "out_features": 4})):
        (folder / place).mkdir()
        (folder / place / "config.json").write_text(json.dumps(values))
    save_file(
        {"linear.weight": torch.randn(4, 32), "linear.bias": torch.randn(4)}, folder / "2_Dense/model.safetensors"
    )
    (folder / "private.txt").write_text("not part of the model")
    encoder = wm.SentenceEncoder(folder, device="cpu")
    model = wm.Ranker(wm.Aligner("word", Projected(encoder, 4)), wm.Exactly(1)).eval()
    model.save_pretrained(tmp_path / "saved")
    assert answers(from_pretrained(tmp_path / "saved")) == answers(model)
    assert (tmp_path / "saved" / "encoder" / "2_Dense" / "model.safetensors").is_file()
    assert not list((tmp_path / "saved").rglob("private.txt"))
