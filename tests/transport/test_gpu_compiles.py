"""The kernels compile for a GPU, on a machine without one: the interpreter accepts more than the compiler does."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton")

COMPILE = """
import sys
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from whymatch.text.encoders import kernel
from whymatch.transport.kernels.gpu import backward, balanced, batches, scaling

DOUBLES = {"left", "right", "epsilons", "error", "units", "shares"}
WHOLE = {"sizes", "status", "partner", "iterations", "supply", "demand", "crumbs", "flow"}
NUMBERS = {"k", "K", "N", "M", "steps", "hidden"}


def kind(kernel, name, real):
    smooth = kernel in (scaling.solve_smooth, backward.solve_backward)
    if name in WHOLE:
        return "*i64"
    if name in DOUBLES or (smooth and name == "plan"):
        return "*fp64"
    if name == "tolerance":
        return "fp32"
    if name in NUMBERS or name.startswith(("between", "highway_")) or (smooth and name == "limit"):
        return "i32"
    return "*" + real


def build(kernel, real, **settings):
    names = kernel.arg_names
    settings["REAL"] = tl.float64 if real == "fp64" else tl.float32
    constants = {(names.index(name),): value for name, value in settings.items()}
    signature = {name: "constexpr" if name in settings else kind(kernel, name, real) for name in names}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 1})
    assert compiled.asm["cubin"]


for real in ("fp32", "fp64"):
    scales = {"HUGE": 1e35, "SHRINK": 2.0**-20, "LIMIT": 3.4e38 if real == "fp32" else sys.float_info.max}
    links = scales | {"ROWS": 32, "COLUMNS": 64, "AT_ONCE": 2}
    for rule in (0, 1, 2):
        build(batches.solve_links, real, RULE=rule, RAGGED=rule > 0, **links)
    build(batches.solve_choices, real, RAGGED=True, **scales, COLUMNS=64, AT_ONCE=2)
    build(batches.solve_path, real, RAGGED=True, **links)
    build(balanced.solve_masses, real, **scales, ROWS=64, COLUMNS=32, AT_ONCE=2)
    build(scaling.solve_smooth, real, RELATIVE=real == "fp32", MEET=real == "fp32", AT_ONCE=2, COLUMNS=64)
    build(backward.solve_backward, real, AT_ONCE=2, COLUMNS=64)
    build(kernel.forward, real, UNITS=64)
    build(kernel.backward, real, UNITS=64)
print("compiled")
"""


def test_every_kernel_compiles_for_a_gpu() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", f"source = {COMPILE!r}\nexec(source)"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.endswith("compiled\n"), done.stderr[-2000:]
