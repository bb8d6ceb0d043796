"""The compile worker: compiles what a candidate would launch on a part that is not there. Its figures inform; they decide nothing.

Each request is one part. The candidate runs in a child of this process, and every compilation in a child of that one, so that the worker
outlives whatever they do. It is confined by whoever started it.
"""

from __future__ import annotations

import os
import tempfile
import traceback
from pathlib import Path
from typing import Any

from . import compile_extension, failures
from .channel import Channel, WorkerError, serve
from .compile_artifacts import Artifacts
from .compile_candidate import follow
from .compile_device import Part
from .compile_process import Report, run
from .compile_triton import warm


def main(channel: Channel) -> None:
    """Answers requests until the supervisor closes the channel."""
    serve(channel, {"compile": _compile, "tools": _tools}, _unexpected)


def _tools(_request: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
    return {"software": compile_extension.software()}


def _compile(request: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
    part = Part(request["part"])
    folder = Path(request["folder"])
    candidate = Path(tempfile.mkdtemp(prefix="candidate-")) / "candidate.py"
    candidate.write_text(request["candidate"])
    artifacts = Artifacts(folder)

    if part.is_gpu:
        warm(part)

    # An assembler says what it spills when it is at work, and not when Triton's cache has its result: two parts may be of one architecture.
    with tempfile.TemporaryDirectory(prefix="triton-") as cache:

        def work(report: Report) -> None:
            os.environ["TRITON_CACHE_DIR"] = cache
            follow(part, request["problem"], candidate, artifacts, int(request["threads"]), float(request["kernel_limit_s"]), report)

        (ended,) = run([work], 1, float(request["limit_s"]))
    kernels = [message for message in ended.messages if "kernel" in message]
    faults = [message for message in ended.messages if "fault" in message]
    missing = [message["not_compiled"] for message in ended.messages if "not_compiled" in message]
    notes = [str(message["note"]) for message in ended.messages if "note" in message]
    if ended.is_late:
        faults.append({"fault": "timed_out", "limit_s": float(request["limit_s"])})
    elif ended.death is not None:
        log = artifacts.put("log", ended.output)
        text = failures.condense(ended.output, failures.TRACEBACK_LIMIT)
        faults.append({"fault": "crashed", "summary": f"the candidate's process {ended.death}", "diagnostics": text, "log": log})
    return {"kernels": kernels, "fault": faults[0] if faults else None, "not_compiled": missing, "notes": notes}


def _unexpected(error: BaseException, op: str) -> WorkerError:
    text = "".join(traceback.format_exception(error))
    return WorkerError("internal", op, f"{type(error).__name__}: {failures.text_of(error)}", text[-failures.TRACEBACK_LIMIT :])


