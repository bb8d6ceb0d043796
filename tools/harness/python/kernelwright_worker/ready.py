"""The first message of a worker: which Python, torch and triton it runs on."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
from typing import Any

from .channel import WorkerError


def describe_python(import_triton: bool) -> dict[str, Any]:
    """Imports torch and says what is there. `import_triton` loads triton as well, so that a candidate need not pay for it.

    `TRITON_INTERPRET` is read by triton while it is imported: the supervisor sets it when it starts the process, never later.
    """
    try:
        import torch
    except Exception as error:  # a broken installation raises OSError, AttributeError, ... as readily as ImportError
        raise WorkerError("no_torch", "start", f"torch does not import: {error}") from error
    return {
        "ready": True,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": _triton_version(import_triton),
        "pid": os.getpid(),
    }


def _triton_version(import_it: bool) -> str | None:
    for distribution in ("triton", "pytorch-triton", "triton-windows"):
        try:
            version = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
        if import_it:
            try:
                importlib.import_module("triton.language")
            except Exception:  # an installation that does not import is as good as none
                return None
        return version
    return None
