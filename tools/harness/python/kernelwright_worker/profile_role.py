"""The profile worker: describes a target, or profiles one module. Its figures inform; they decide nothing.

Started for the machine itself, for a problem, or confined for a problem with a candidate; the operations are the same.
"""

from __future__ import annotations

import traceback
from typing import Any

from .channel import Channel, WorkerError, serve
from .describe import describe
from .device import Device, keep_freed_memory
from .subject import load_subject
from .torch_profile import profile_calls, show_foreign_calls


def main(channel: Channel) -> None:
    """Answers requests until the supervisor closes the channel."""
    serve(channel, {"describe": _describe, "profile": _profile}, _unexpected)


def _describe(request: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
    return describe(_device(request))


def _profile(request: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
    device = _device(request)
    if not device.is_cuda:
        show_foreign_calls()
    call = load_subject(request["problem"], request.get("candidate"), device, int(request.get("seed", 0)))
    return profile_calls(call, device.torch)


def _device(request: dict[str, Any]) -> Device:
    """The device, set up as the evaluation sets it up, so that a profile shows the kernels that are timed there."""
    device = Device(request["device"])
    device.configure(request.get("threads"), request.get("policy"))
    if not device.is_cuda:
        keep_freed_memory()
    return device


def _unexpected(error: BaseException, op: str) -> WorkerError:
    return WorkerError("internal", op, f"{type(error).__name__}: {error}", traceback.format_exc())
