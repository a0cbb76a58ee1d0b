"""Exact solvers on the CPU, compiled by numba: serial kernels that release the GIL, one problem after the other."""
