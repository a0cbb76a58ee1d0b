"""What was installed from a wheel works: run by .ci/check-dist in a folder that holds no source.

Needs the base package, the bundled model and pytest; no torch.
"""

import itertools
import json
import subprocess
import sys
import sysconfig
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pytest

import whymatch as wm

OLD, NEW = "Payment is due in 30 days.\n\nThe fee is 5 euros.", "Payment is due in 14 days.\n\nThe fee is 5 euros."
LEFT, RIGHT = "The cat slept on the mat. It rained.", "All day there was rain. A cat was asleep on a mat."


def whymatch(*arguments: str, status: int = 0) -> str:
    """What a command prints."""
    program = Path(sys.executable).parent / "whymatch"
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_it_is_the_package_that_was_installed() -> None:
    assert Path(wm.__file__).is_relative_to(sysconfig.get_path("purelib"))
    assert wm.__version__ == distribution("whymatch").version
    assert whymatch("--version").split()[-1] == wm.__version__


WITH_EXTRAS = {"Classifier", "Index", "RecurrentEncoder", "Ranker", "nn"}


@pytest.mark.parametrize("name", sorted({*wm.__all__} - WITH_EXTRAS))
def test_every_name_that_needs_no_extra_can_be_had(name: str) -> None:
    assert getattr(wm, name) is not None


@pytest.mark.parametrize("name", sorted(WITH_EXTRAS))
def test_a_name_that_needs_an_extra_says_which_package(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"torch|LanceDB"):
        getattr(wm, name)


def test_texts_are_aligned_checked_and_compared_on_the_command_line(tmp_path: Path) -> None:
    for name, text in {"left": LEFT, "right": RIGHT, "old": OLD, "new": NEW}.items():
        (tmp_path / name).with_suffix(".txt").write_text(text, encoding="utf-8")
    left, right, old, new = (str((tmp_path / name).with_suffix(".txt")) for name in ("left", "right", "old", "new"))
    aligned = json.loads(whymatch("align", left, right, "--json"))
    assert [link["left"] for link in aligned["links"]] == [0, 1] or len(aligned["links"]) == 2
    whymatch("align", left, right, "--html", str(tmp_path / "why.html"))
    assert "<html" in (tmp_path / "why.html").read_text(encoding="utf-8")
    assert "supported" in whymatch("check", left, right)
    assert "14" in whymatch("compare", old, new)
    assert "whymatch" in whymatch("doctor")
    assert "align" in whymatch("completion", "bash")


def test_python_has_links_relations_and_a_certificate() -> None:
    why = wm.Aligner(relations=True).align(LEFT, RIGHT)
    assert {link.at for link in why.links} == {(0, 1), (1, 0)}
    assert why.links[0].relation is not None
    assert why.probability is not None
    assert why.probability > 0.9
    assert "optimal" in str(why.certificate)
    assert why.verify()
    assert wm.check("It rained.", {"diary": RIGHT}).faithfulness == 1
    assert wm.compare(OLD, NEW).counts


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_plans_are_optimal_compiled_and_not(k: int, kind: type) -> None:
    for seed in range(20):
        cost = np.random.default_rng(seed).normal(size=(4, 5)).astype(kind)
        best = min(
            sum(cost[i, j] for i, j in zip(rows, columns, strict=True))
            for rows in itertools.combinations(range(4), k)
            for columns in itertools.permutations(range(5), k)
        )
        assert wm.solve(cost, wm.Exactly(k)).cost * k == pytest.approx(float(best), rel=1e-5, abs=1e-5)


def test_large_batches_are_solved_by_compiled_kernels() -> None:
    cost = np.random.default_rng(0).normal(size=(400, 30, 40))
    for constraint in (wm.OneTo(1), wm.UpTo(2, below=0.1), wm.Exactly(3), wm.Each(2, below=0.1), wm.Balanced()):
        solution = wm.solve(cost, constraint)
        assert (solution.status == 0).all()
        assert np.abs(solution.gap).max() < 1e-9
    assert wm.transport.sinkhorn(cost[:3], wm.OneTo(1)).plan.sum(axis=(1, 2)) == pytest.approx(1)


def test_nothing_brought_torch_along() -> None:
    code = "import sys, whymatch as wm; wm.Aligner().align('It rained.', 'Rain fell.'); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
