"""What can be collected here: the kernels for GPUs are Triton's, and need it to be imported."""

from importlib.util import find_spec

TRITON = ["src/whymatch/transport/kernels/gpu/*.py", "src/whymatch/text/encoders/kernel.py"]
collect_ignore_glob = [] if find_spec("triton") else TRITON
