"""How public names change: the old one works for two minor versions, and says what to use and until when.

    A name moved or renamed        `_RENAMED["OldName"] = Renamed("NewName", since="0.2")` in `whymatch/__init__.py`
    A function to be removed       `@deprecated("whymatch.align", since="0.2")`
    An argument that was renamed   `@renamed_argument("old", "new", since="0.2")`

Whoever uses one gets a `FutureWarning`, which Python shows to users and not to developers alone. A test,
tests/test_public_api.py, sees to it that nothing public goes without having been deprecated, and that it does go.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

VERSIONS = 2
"""For how many minor versions a deprecated name works."""
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Renamed:
    """The name that took the place of another, and the minor version since which the other is deprecated."""

    instead: str
    since: str

    @property
    def until(self) -> str:
        """The minor version in which the old name is gone.

        >>> Renamed("Aligner", since="0.2").until
        '0.4'
        """
        major, minor = map(int, self.since.split("."))
        return f"{major}.{minor + VERSIONS}"

    def warn(self, name: str, depth: int = 2) -> None:
        """Tells whoever used the old name, so many calls above this one."""
        message = f"{name} is deprecated since whymatch {self.since} and goes with {self.until}: use {self.instead}."
        warnings.warn(message, FutureWarning, stacklevel=depth + 1)


def deprecated(instead: str, *, since: str) -> Callable[[Function], Function]:
    """Marks a function or method as one that goes.

    >>> @deprecated("new", since="0.2")
    ... def old(): return 1
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     value = old()
    >>> print(value, caught[0].message)
    1 old is deprecated since whymatch 0.2 and goes with 0.4: use new.
    """
    renamed = Renamed(instead, since)

    def marked(function: Function) -> Function:
        @wraps(function)
        def called(*arguments: Any, **named: Any) -> Any:
            renamed.warn(function.__qualname__)
            return function(*arguments, **named)

        called.__deprecated__ = renamed  # type: ignore[attr-defined]
        return called  # type: ignore[return-value]

    return marked


def renamed_argument(old: str, new: str, *, since: str) -> Callable[[Function], Function]:
    """Lets a function take a keyword argument by its old name too.

    >>> @renamed_argument("top", "top_k", since="0.2")
    ... def search(top_k): return top_k
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     value = search(top=3)
    >>> print(value, caught[0].message)
    3 search(top=…) is deprecated since whymatch 0.2 and goes with 0.4: use top_k.

    Raises:
        TypeError: when called, if both names are given.
    """
    renamed = Renamed(new, since)

    def taking(function: Function) -> Function:
        @wraps(function)
        def called(*arguments: Any, **named: Any) -> Any:
            if old in named:
                if new in named:
                    raise TypeError(f"{function.__qualname__} takes {new}, which was {old}: give one of them.")
                renamed.warn(f"{function.__qualname__}({old}=…)")
                named[new] = named.pop(old)
            return function(*arguments, **named)

        return called  # type: ignore[return-value]

    return taking
