"""Kernels that numba compiles when there is work for them: until then the same code runs as Python.

To load numba and compiled kernels takes longer than to solve a few small problems in Python, and to compile them takes
seconds. Both ways give the same results.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, ClassVar, TypeVar, cast
from warnings import warn

import numpy as np

from whymatch.forking import loading

Function = TypeVar("Function", bound=Callable[..., Any])

MAX_STEPS_IN_PYTHON = 300_000
"""Steps of all problems of a process, as `launch` counts them, that Python takes about as long for as numba to load."""
_steps: list[Callable[..., Any]] = []


def step(function: Function) -> Function:
    """A part of kernels; always inlined where it is compiled, since a call would copy all of `Work`."""
    _steps.append(function)
    return function


@step
def smaller(a: float, b: float) -> float:
    """The smaller of two floats that are numbers; compiled in a form that LLVM vectorises, which `min` is not."""
    return a if a < b else b


class Kernel:
    """What walks over a batch of problems, as Python and compiled."""

    steps_left: ClassVar[int] = MAX_STEPS_IN_PYTHON
    """How many steps kernels may still take in Python."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._compiled: Callable[..., Any] | None = None
        self.__doc__ = function.__doc__

    def __call__(self, *arguments: Any) -> Any:
        """Runs it compiled."""
        return self.compiled(*arguments)

    def in_python(self, *arguments: Any) -> Any:
        """Runs it as Python, on costs in double precision."""
        with np.errstate(all="ignore"):
            return self._function(*arguments)

    @property
    def compiled(self) -> Callable[..., Any]:
        """The kernel compiled: when it is first called, or before, from a cache on disk."""
        if self._compiled is None:
            with loading:  # the only lock: a child that is forked meanwhile does not have another to wait for
                self._compiled = self._compiled or self._compile()
        return self._compiled

    def _compile(self) -> Callable[..., Any]:
        if find_spec("numba") is None:
            message = "numba is not installed: plans are solved in plain Python, hundreds of times slower."
            warn(message, stacklevel=3)
            return self.in_python
        return _compiled(self._function)

    def suited(self, steps: int, costs: np.ndarray) -> Callable[..., Any]:
        """The kernel as Python for problems that are small and in double precision, or else compiled."""
        if self._compiled is not None or steps > Kernel.steps_left or costs.dtype != np.float64:
            return self.compiled
        Kernel.steps_left -= steps
        return self.in_python


def expect_work() -> None:
    """Has every kernel compiled when it is next used: for processes that will have much to solve."""
    Kernel.steps_left = 0


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Serial on purpose: numba's parallel loops kill forked children, and stop a process in which two threads enter."""
    from numba import njit
    from numba.extending import register_jitable

    while _steps:
        part = _steps.pop()
        if part is smaller:
            _compile_smaller()
        else:
            register_jitable(nogil=True, forceinline=True)(part)
    try:
        return _with_a_cache_that_may_be_damaged(njit(nogil=True, cache=True)(function))
    except RuntimeError:  # nowhere to write a cache: a read-only installation without a home
        return cast(Callable[..., Any], njit(nogil=True)(function))


def _with_a_cache_that_may_be_damaged(dispatcher: Any) -> Callable[..., Any]:
    """A compiled function that is compiled again where what numba has kept of it cannot be read."""
    load = dispatcher._cache.load_overload

    def load_if_possible(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except Exception:  # whatever the bytes of a damaged file make of it
            dispatcher._cache.flush()
            return None

    dispatcher._cache.load_overload = load_if_possible
    return cast(Callable[..., Any], dispatcher)


def _compile_smaller() -> None:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic, overload

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double = arguments[0].type
        function = builder.module.declare_intrinsic("llvm.minnum", [double], ir.FunctionType(double, [double, double]))
        return builder.call(function, arguments, fastmath=("nnan", "nsz"))

    def minimum(typing: Any, a: Any, b: Any) -> Any:
        return types.float64(types.float64, types.float64), generate

    vectorised = cast(Callable[[float, float], float], intrinsic(minimum))

    @overload(smaller, jit_options={"nogil": True, "forceinline": True}, strict=False)
    def _(a: Any, b: Any) -> Any:
        return lambda a, b: vectorised(a, b)
