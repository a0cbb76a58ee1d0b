"""`whymatch doctor`: what is installed, what is missing for which verb, and whether it works."""

import argparse
import json
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator
from itertools import combinations, permutations, zip_longest
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from whymatch import __file__ as package
from whymatch import __version__
from whymatch.cli.console import multiply_in_one_thread
from whymatch.files import cache_folder
from whymatch.progress import is_watched
from whymatch.show.words import plain

if TYPE_CHECKING:
    import numpy as np

VERBS = {
    "align, check, compare, calibrate": "",
    "index, search, duplicates": "search",
    "index --ray, score": "scale",
    "serve": "serve",
    "train, evaluate": "train",
    "study": "study",
    "data prepare --hard": "data",
    "--figure": "figures",
    "bitext, --encoder multilingual": "multilingual",
}
"""What needs which extra; the other verbs and options need the base package alone."""
_MODEL = "pip install 'whymatch[bundled]'; in a clone: make minilm, then pip install dist/whymatch_minilm-*.whl"
_LEFT = "My wifi drops every few minutes. I use a Dell laptop. I reinstalled the driver. Thanks for any help!"
_RIGHT = "Hello everybody. The wireless connection keeps failing. Installing the driver again did not help."
_LINKS = {(0, 1), (2, 2)}  # of the sentences of these two texts


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("doctor", help="what is installed, what is missing for which verb, and a self-test")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> int:
    """Prints what it finds, and returns 1 if something that is installed does not work."""
    multiply_in_one_thread()
    if is_watched():
        print("Testing; the first time, solvers are compiled, which takes up to half a minute.", file=sys.stderr)
    model = _model()
    checks = [*_checks(model)]
    failed = [check["name"] for check in checks if not check["passed"]]
    report = {
        "works": not failed,
        "whymatch": {"version": __version__, "folder": str(Path(package).parent)},
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "model": model,
        "cache": _cache(),
        "packages": _versions(),
        "verbs": [_readiness(verbs, extra, model) for verbs, extra in VERBS.items()],
        "checks": checks,
    }
    if settings.json:
        print(json.dumps(report, ensure_ascii=False))
    else:
        print("\n".join(_lines(report, failed)))
    return 1 if failed else 0


def _lines(report: dict[str, Any], failed: list[str]) -> Iterator[str]:
    """The report for people, the answer first."""
    from whymatch.show.terminal import table

    seconds = sum(check["seconds"] for check in report["checks"])
    if failed:
        yield f"whymatch does not work here: the self-test found a fault ({', '.join(failed)}; {seconds:.1f} s)."
    elif report["model"]["folder"] is None:
        yield f"whymatch works, without a model of its own: give --encoder, or install one ({seconds:.1f} s)."
    else:
        yield f"whymatch works: the self-test found no fault ({seconds:.1f} s)."
    model, cache = report["model"], report["cache"]
    facts = {
        "whymatch": f"{report['whymatch']['version']} in {report['whymatch']['folder']}",
        "Python": f"{report['python']}, {report['machine']}",
        "model": f"{model['name']} in {model['folder']}" if model["folder"] else f"none: {model['advice']}",
        "runs on": model["backend"] or "nothing yet",
        "caches": f"{cache['folder']}, {cache['megabytes']:.1f} MB{'' if cache['writable'] else ' (not writable)'}",
        "packages": ", ".join(f"{name} {number}" for name, number in report["packages"].items()),
    }
    yield ""
    for name, fact in facts.items():
        lines = wrap(plain(fact), 100, break_on_hyphens=False, break_long_words=False)
        yield from (f"{heading:10}{line}" for heading, line in zip_longest([name], lines, fillvalue=""))
    yield ""
    rows = [[row["verbs"], "yes" if row["ready"] else f"no: {plain(row['advice'])}"] for row in report["verbs"]]
    yield table(["for", "ready"], rows)
    if any(row["missing"] for row in report["verbs"]):
        yield "No index has whymatch yet: give pip 'whymatch-….whl[search]', its wheel, or '.[search]' in a clone."
    yield ""
    results = [(check["name"], check["passed"], plain(check["found"])) for check in report["checks"]]
    yield table(
        ["check", "result", "found"], [[name, "passed" if ok else "FAILED", text] for name, ok, text in results]
    )


def _model() -> dict[str, Any]:
    """Where the bundled model is, and what runs it."""
    from whymatch.text.encoders.models import MINILM, bundle

    model: dict[str, Any] = {"name": MINILM, "folder": None, "backend": None, "advice": None}
    try:
        folder = bundle()
        if folder is None:
            return model | {"advice": _MODEL}
        from whymatch.text.encoders.backends import load_frozen

        return model | {"folder": str(folder), "backend": load_frozen(folder, "cpu").backend}
    except (ValueError, ModuleNotFoundError) as error:
        return model | {"advice": str(error)}


def _cache() -> dict[str, Any]:
    """The folder of caches, and how large it is."""
    folder = cache_folder()
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else 0
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    return {"folder": str(folder), "megabytes": size / 1e6, "writable": os.access(there, os.W_OK)}


def _requirements() -> dict[str, list[str]]:
    """The names of the packages that each extra needs, and the base package (""), as the installation says.

    Empty where whymatch runs from its sources and is not installed.
    """
    from importlib.metadata import PackageNotFoundError, requires

    needed: dict[str, list[str]] = {"": []}
    try:
        lines = requires("whymatch") or []
    except PackageNotFoundError:
        return {}
    for line in lines:
        name, extra = re.match(r"[\w.-]+", line), re.search(r"extra == ['\"](.+?)['\"]", line)
        if name is not None:
            needed.setdefault(extra[1] if extra else "", []).append(name[0])
    return needed


def _installed(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _versions() -> dict[str, str]:
    """The versions of the packages that are installed, of the base package and of extras but those of developers."""
    needed = _requirements()
    names = dict.fromkeys(name for extra, own in needed.items() if extra not in ("dev", "build") for name in own)
    versions = {name: _installed(name) for name in names if name != "whymatch"}
    return {name: number for name, number in versions.items() if number is not None}


def _readiness(verbs: str, extra: str, model: dict[str, Any]) -> dict[str, Any]:
    """Whether some verbs have what they need, and what to do if not."""
    missing = [name for name in _requirements().get(extra, []) if _installed(name) is None]
    names = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    advice = f"{names}: pip install 'whymatch[{extra}]'" if missing else None
    if not extra and model["folder"] is None:
        advice = "give --encoder, or install the model, as said above"
    return {"verbs": verbs, "ready": advice is None, "missing": missing, "advice": advice}


def _checks(model: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The self-test: the name of each check, whether it passed, what it found, and how long it took."""
    tests: dict[str, Callable[[], str]] = {"solver": _check_solver}
    if model["folder"] is not None:
        tests |= {"alignment": _check_alignment, "relations": _check_relations}
    elif model["advice"] != _MODEL:
        yield {"name": "model", "passed": False, "found": model["advice"], "seconds": 0.0}
    for name, test in tests.items():
        start = time.monotonic()
        try:
            passed, found = True, test()
        except Exception as error:  # whatever is broken is what was looked for
            passed, found = False, f"{type(error).__name__}: {error}"
        yield {"name": name, "passed": passed, "found": found, "seconds": time.monotonic() - start}


def _check_solver() -> str:
    """Solves small problems as Python and compiled, and compares both with the best of all alignments."""
    import numpy as np

    from whymatch.transport import UpTo, path, solve
    from whymatch.transport.kernels.cpu.compiling import Kernel

    costs = np.random.default_rng(0).standard_normal((40, 3, 4))
    best = np.array([_best_by_trying(cost) for cost in costs])
    left = Kernel.steps_left
    try:
        for steps, how in ((10**9, "Python"), (0, "compiled code")):
            Kernel.steps_left, start = steps, time.monotonic()
            every_k, up_to = path(costs), solve(costs, UpTo(1, below=0.0))
            linked = np.where(up_to.plan > 0, costs, 0.0).sum(axis=(1, 2))
            _demand(np.allclose(every_k.cost, best, rtol=0, atol=1e-9), f"{how} missed an optimum of Exactly(k)")
            _demand(
                np.allclose(linked, best.min(axis=1).clip(max=0), rtol=0, atol=1e-9), f"{how} missed one of UpTo(1)"
            )
            _demand(bool((np.abs(every_k.gap) < 1e-9).all()), f"{how} could not prove an optimum")
    finally:
        Kernel.steps_left = left
    return f"{len(costs)} problems solved to their optimum; compiled code was ready in {time.monotonic() - start:.1f} s"


def _best_by_trying(cost: "np.ndarray") -> list[float]:
    """The least cost of k links, for every k, by trying all of them."""
    rows, columns = cost.shape
    return [
        min(
            sum(cost[i, j] for i, j in zip(chosen, order, strict=True))
            for chosen in combinations(range(rows), k)
            for order in permutations(range(columns), k)
        )
        for k in range(1, min(rows, columns) + 1)
    ]


def _check_alignment() -> str:
    """Aligns two texts, both ways, and verifies the links."""
    from whymatch.matching.defaults import default_aligner

    aligner = default_aligner("sentence")
    why, turned = aligner.align(_LEFT, _RIGHT), aligner.align(_RIGHT, _LEFT)
    links = {link.at for link in why.links}
    _demand(links == _LINKS, f"two texts have the links {sorted(links)}, and not {sorted(_LINKS)}")
    _demand(
        {(j, i) for i, j in links} == {link.at for link in turned.links}, "the same texts, turned, have other links"
    )
    _demand(bool(why.verify(aligner)), "links do not hold on the rationale alone")
    return "two texts have the links that they should, either way round, and the links hold on their own"


def _check_relations() -> str:
    """Reads two sentences that contradict each other, and two that say the same."""
    from whymatch.matching.relations import shipped_reader

    pairs = [("Take 5 mg a day.", "Take 50 mg a day."), ("The cat slept on the mat.", "The cat slept on the mat.")]
    names = [relation.name for relation in shipped_reader().relations(pairs)]
    _demand(names == ["contradicts", "same"], f"two pairs of sentences read as {' and '.join(names)}")
    return "a contradiction and a repetition are read as such"


def _demand(holds: bool, fault: str) -> None:
    if not holds:
        raise ValueError(fault)
