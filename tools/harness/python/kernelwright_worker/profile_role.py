"""The profile worker: describes a target, or profiles one module. Its figures inform; they decide nothing.

The operations, beside those of WORKERS.md: `describe` {device, threads} and `profile` {problem, candidate, device, threads, seed, tf32}.
"""

from __future__ import annotations

import traceback
from typing import Any

import torch

from .channel import Channel, WorkerError, serve
from .describe import describe
from .device import open_device
from .subject import load_subject
from .torch_profile import profile_calls, show_foreign_calls


def main(channel: Channel) -> None:
    """Answers requests until the supervisor closes the channel."""
    serve(channel, {"describe": _describe, "profile": _profile}, _unexpected)


def _describe(request: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
    _set_threads(request)
    return describe(request["device"])


def _profile(request: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
    _set_threads(request)
    device = open_device(request["device"])
    # TF32 as the evaluation has it, so that a profile shows the kernels that are timed there.
    torch.set_float32_matmul_precision("high" if request.get("tf32") else "highest")
    torch.backends.cudnn.allow_tf32 = bool(request.get("tf32"))
    if device.type == "cpu":
        show_foreign_calls()
    with torch.no_grad():
        subject = load_subject(request["problem"], request.get("candidate"), device, int(request.get("seed", 0)))
        return profile_calls(subject, device)


def _set_threads(request: dict) -> None:
    if threads := request.get("threads"):
        torch.set_num_threads(int(threads))


def _unexpected(error: BaseException, op: str) -> WorkerError:
    return WorkerError("internal", op, f"{type(error).__name__}: {error}", traceback.format_exc())
