"""Examples in docstrings as blocks of code: mkdocstrings would take the prompts for quotations."""

import re
from typing import Any

from griffe import Extension, Object

_EXAMPLE = re.compile(r"^( *)>>> .*\n(?:^(?! *$).*\n)*", re.MULTILINE)


class Examples(Extension):  # type: ignore[misc]
    """Puts every example of a docstring into a fenced block."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """A docstring whose examples stand in fenced blocks, without their indentation.

    >>> fenced("Adds.\\n\\n    >>> 1 + 1\\n    2").splitlines()
    ['Adds.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """

    def block(match: re.Match[str]) -> str:
        lines = [line.removeprefix(match[1]) for line in match[0].splitlines()]
        return "\n".join(["```pycon", *lines, "```", ""])

    return _EXAMPLE.sub(block, docstring + "\n").rstrip("\n")
