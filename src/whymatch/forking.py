"""Makes `os.fork` wait while another thread loads a part of whymatch or compiles a kernel.

A child has the memory of its parent, locked locks included, but only the thread that forked: nobody is left to unlock
what another thread held. Loading and compiling hold Python's import locks, numba's compiler lock, and locks of the C
library that torch needs as well; a child that met one of them would wait for ever.
"""

import os
import sys
from threading import RLock
from typing import Any

loading = RLock()
"""Held by whoever loads a part of whymatch on first use."""

_compiling: list[Any] = []  # numba's lock, while this process forks


def _wait() -> None:
    """Takes both locks, numba's only where numba is loaded: otherwise nothing compiles."""
    loading.acquire()
    numba = sys.modules.get("numba.core.compiler_lock")
    if numba is not None and hasattr(numba, "global_compiler_lock"):
        numba.global_compiler_lock.acquire()
        _compiling.append(numba.global_compiler_lock)


def _go_on() -> None:
    """Gives both locks back, in the parent and in the child."""
    if _compiling:
        _compiling.pop().release()
    loading.release()


if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_go_on)
