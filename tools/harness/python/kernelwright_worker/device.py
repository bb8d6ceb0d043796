"""Names of devices, as targets write them, made into devices that are there."""

from __future__ import annotations

import torch

from .channel import WorkerError


def open_device(name: str) -> torch.device:
    """The device `cpu`, `cuda` or `cuda:N`, made current. Raises `WorkerError` of kind `device` where there is none."""
    device = torch.device(name)
    if device.type != "cuda":
        return device
    if not torch.cuda.is_available():
        reason = "torch finds no CUDA device" if torch.version.cuda else f"torch {torch.__version__} is built without CUDA"
        raise WorkerError("device", "start", f"there is no {name}: {reason}")
    index = device.index or 0
    if index >= torch.cuda.device_count():
        raise WorkerError("device", "start", f"there is no {name}: torch finds {torch.cuda.device_count()} CUDA device(s)")
    torch.cuda.set_device(index)
    return torch.device("cuda", index)
