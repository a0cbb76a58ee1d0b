"""Table 7: transport beside attention, in one run."""

from pathlib import Path

import pytest
import torch

from experiments import speed
from experiments.records import read_runs


def test_every_rule_is_measured_beside_attention_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    speed.run_speed(tmp_path, pairs=2, rounds=1)
    assert "exact k = 2" in capsys.readouterr().out
    runs = read_runs(tmp_path)
    assert len(runs) == len(speed.RULES) * len(speed.ENCODERS)
    for run in runs:
        found = run["results"]
        assert min(found.values()) > 0
        assert run["hardware"]
        if run["row"] == speed.ATTENTION:
            assert found["training step to attention"] == found["prediction to attention"] == 1
    for kind in speed.ENCODERS:
        assert len({run["results"]["parameters"] for run in runs if run["encoder"] == kind}) == 1


def test_texts_are_as_long_as_asked_and_the_same_each_time() -> None:
    pairs = speed.made_up(1, 50, sentences=(2, 5), length=(3, 4))
    assert pairs == speed.made_up(1, 50, sentences=(2, 5), length=(3, 4))
    assert {len(text) for pair in pairs for text in pair} == {2, 3, 4, 5}
    assert {len(piece.split()) for pair in pairs for text in pair for piece in text.pieces} == {3, 4}


def test_a_ratio_is_the_median_over_rounds() -> None:
    assert speed.ratio([2.0, 9.0, 4.0], [1.0, 1.0, 4.0]) == 2


def test_models_are_timed_in_turn() -> None:
    batches = [speed.made_up(0, 2)]
    seen: list[str] = []
    models = {}
    for name in ("a", "b"):
        model, loss = speed.ranking(speed.make_encoder("frozen", batches), speed.RULES["OT (1:1)"])

        def noted(pairs: speed.Pairs, name: str = name, loss: speed.Loss = loss) -> torch.Tensor:
            seen.append(name)
            return loss(pairs)

        models[name] = (model, noted)
    times = speed.interleaved(models, batches, rounds=2)
    assert seen == ["a", "a", "b", "b"] * (speed.WARM_UP + 2)
    assert all(len(some) == 2 for one in times.values() for some in one)
