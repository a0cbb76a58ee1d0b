"""Solvers on the GPU, in Triton: one program a problem, sizes read on the device, nothing waits for the host."""
