"""Which library computes the vectors of a frozen model: OpenVINO on a CPU, torch on a GPU and for other families."""

import logging
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from whymatch.text.encoders.architecture import NotCompiledError
from whymatch.text.encoders.windows import WindowNetwork

BACKENDS = "openvino", "openvino bfloat16", "openvino float32", "torch", "torch float32"
_GPU_DEVICES = "/dev/nvidiactl", "/dev/dxg", "/dev/kfd"
"""What Linux has where there is a GPU of NVIDIA, one of Windows' or one of AMD."""
_LOGGER = logging.getLogger("whymatch")


def load_frozen(folder: Path, device: str | None = None, backend: str | None = None) -> WindowNetwork:
    """The model in a folder, to be used as it is.

    Args:
        device: as torch calls it; by default a GPU if there is one.
        backend: one of `BACKENDS`. By default OpenVINO on a CPU, if it is installed and knows the model, in bfloat16
            where the processor has that; otherwise torch, and a line of the log says why.

    Raises:
        ValueError: if the folder holds no model, or if the backend that was asked for cannot run it.
        ModuleNotFoundError: if torch and transformers are needed and not installed.
    """
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"There is no backend {backend!r:.40}. Choose from {', '.join(BACKENDS)}.")
    asked_for = (backend or "").partition(" ")
    if asked_for[0] == "torch" or (backend is None and not _on_cpu(device)):
        return _load_on_torch(folder, device)
    if not _on_cpu(device or "cpu"):
        raise ValueError(f"OpenVINO computes on the CPU, and the device is {device!r:.40}. Leave out one of the two.")
    try:
        for package in ("openvino", "tokenizers"):
            if find_spec(package) is None:
                raise NotCompiledError(f"{package} is not installed (pip install {package})")
        from whymatch.text.encoders.compiled import load_compiled

        return load_compiled(folder, asked_for[2] or None)
    except NotCompiledError as error:
        if backend is not None:
            raise ValueError(f"The model in {folder} does not run on OpenVINO: {error}. Use torch.") from None
        _say_once(f"The model in {folder} runs on torch, and not on OpenVINO, which is faster: {error}.")
        return _load_on_torch(folder, device, str(error))


def _on_cpu(device: str | None) -> bool:
    """Whether a device is the CPU; None is a GPU if torch finds one."""
    if device is not None:
        return str(device).partition(":")[0] == "cpu"
    if find_spec("torch") is None or not (sys.platform == "win32" or any(Path(name).exists() for name in _GPU_DEVICES)):
        return True  # known without loading torch
    import torch

    return not torch.cuda.is_available()


def _load_on_torch(folder: Path, device: str | None, reason: str | None = None) -> WindowNetwork:
    try:
        import transformers  # noqa: F401

        from whymatch.text.encoders.network import load
    except ModuleNotFoundError as error:
        because = f"The model in {folder} needs torch and transformers" + (f", since {reason}" if reason else "")
        message = f"{because}; {error.name} is not installed: pip install 'whymatch[train]'."
        raise ModuleNotFoundError(message, name=error.name) from None
    return load(folder, device)


@cache
def _say_once(message: str) -> None:
    _LOGGER.warning(message)
