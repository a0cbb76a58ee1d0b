"""The public names with their signatures, as text: `python -m tests.public_api` writes public_api.txt, for a release.

Annotations are left out, since Python prints them otherwise in each of its versions.
"""

import inspect
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_suffix(".txt")
MODULES = {
    "whymatch": None,
    "whymatch.cost": None,
    "whymatch.learning": None,
    "whymatch.transport": None,
    "whymatch.nn": None,
    "whymatch.sklearn": "sklearn",
    "whymatch.sentence_transformers": "sentence_transformers",
    "whymatch.langchain": "langchain_core",
    "whymatch.llamaindex": "llama_index",
}
"""Modules with public names, and the package without which each cannot be imported."""


def public_names() -> list[str]:
    """A line for each public name, class, method and property, of what can be imported here."""
    return sorted(line for module in present() for line in _of_module(module))


def present() -> list[str]:
    """The modules with public names that can be imported here."""
    return [module for module, needs in MODULES.items() if needs is None or find_spec(needs) is not None]


def names_of(module: str) -> list[str]:
    """The public names of a module: those that it lists, or those that are its own."""
    values = vars(import_module(module))
    own = [name for name, value in values.items() if _is_public(name) and _home(value) == module]
    return [*values.get("__all__", own)]


def name_of(line: str) -> str:
    """The dotted name that a line is about."""
    return line.partition("(")[0].partition(":")[0].partition(" ")[0]


def _of_module(name: str) -> Iterator[str]:
    module = import_module(name)
    for public in names_of(name):
        value = getattr(module, public)
        if inspect.isclass(value):
            yield from _of_class(f"{name}.{public}", value)
        elif inspect.isroutine(value):
            yield f"{name}.{public}{_signature(value)}{_mark(value)}"
        elif not inspect.ismodule(value):
            yield f"{name}.{public}: {type(value).__name__}"


def _of_class(name: str, kind: type) -> Iterator[str]:
    try:
        yield f"{name}{_signature(kind)}"
    except (ValueError, TypeError):
        yield name
    for member in dir(kind):
        value = inspect.getattr_static(kind, member)
        function = getattr(value, "__func__", value)
        if not _is_public(member) or not _is_ours(kind, member):
            continue
        if inspect.isfunction(function):
            yield f"{name}.{member}{_signature(function)}{_mark(function)}"
        else:
            yield f"{name}.{member}"


def _is_public(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_") and name != "model_config"  # of pydantic


def _is_ours(kind: type, member: str) -> bool:
    return any(member in vars(base) and base.__module__.startswith("whymatch") for base in kind.__mro__)


def _home(value: Any) -> str | None:
    return getattr(value, "__module__", None)


def _mark(value: Any) -> str:
    return " (deprecated)" if hasattr(value, "__deprecated__") else ""


def _signature(value: Any) -> str:
    """Names, kinds and defaults of parameters."""
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in inspect.signature(value).parameters.values()]
    plain = [one.replace(default=_Shown(one.default)) if one.default is not one.empty else one for one in bare]
    return str(inspect.Signature(plain))


class _Shown:
    """A default as it is written: by its name where it has one."""

    def __init__(self, value: Any) -> None:
        self.text = getattr(value, "__name__", None) or repr(value)
        if " at 0x" in self.text or "<factory>" in self.text:
            self.text = "…"

    def __repr__(self) -> str:
        return self.text


if __name__ == "__main__":
    FILE.write_text("\n".join(public_names()) + "\n", encoding="utf-8")
