"""Turns exceptions of foreign code into errors a model can act on: its own frames, cut to a readable length."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable

from .channel import WorkerError

#: Longest traceback and message sent, in characters; the whole text is in the log.
TRACEBACK_LIMIT = 4000
MESSAGE_LIMIT = 600

_HARNESS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_COMPILER_ERROR = re.compile(r"\berror\b\s*[:#]|^error", re.MULTILINE)


def describe(error: BaseException, kind: str, phase: str, own: Callable[[str], bool], advice: str = "") -> WorkerError:
    """Words an exception. `own` tells the file names of the code whose frames matter; `advice` comes on the message's first line, which is shown everywhere."""
    summary = traceback.TracebackException.from_exception(error)
    seen: set[int] = set()
    _keep_own_frames(summary, own, seen)
    text = "".join(summary.format())
    name, said = type(error).__name__, text_of(error)
    message = f"{name}: {said}".strip().removesuffix(":") if said else name
    advice = f" ({advice})" if advice else ""
    first, newline, rest = condense(message, MESSAGE_LIMIT - len(advice)).partition("\n")
    return WorkerError(kind, phase, first + advice + newline + rest, condense(text, TRACEBACK_LIMIT))


def text_of(error: BaseException) -> str:
    """What an exception says; foreign code may have it raise another one when it is asked."""
    try:
        return str(error)
    except BaseException as another:  # whatever it is, the first one is to be told of
        return f"its message cannot be had, asking for it raises {type(another).__name__}"


def lost_the_device(error: BaseException) -> bool:
    """Whether the GPU has reported an error that ends all use of it by this process, as CUDA and torch word them: nothing that comes after it is an answer."""
    return "CUDA error" in text_of(error)


def _keep_own_frames(summary: traceback.TracebackException, own: Callable[[str], bool], seen: set[int]) -> None:
    """Drops the frames of libraries and of the harness; where none is left, the innermost two of libraries stay."""
    if id(summary) in seen:
        return
    seen.add(id(summary))
    mine = [frame for frame in summary.stack if own(frame.filename)]
    kept = mine if mine else [frame for frame in summary.stack if not frame.filename.startswith(_HARNESS)][-2:]
    summary.stack = traceback.StackSummary.from_list(kept)
    for inner in (summary.__cause__, summary.__context__):
        if inner is not None:
            _keep_own_frames(inner, own, seen)


def condense(text: str, limit: int) -> str:
    """Cuts `text` to `limit` characters. A compiler's output starts at its first error; anything else keeps its head and its tail."""
    text = text.strip()
    if len(text) <= limit:
        return text
    gap = "\n[...]\n"
    head = text[: limit // 4]
    rest = limit - len(head) - len(gap)
    found = _COMPILER_ERROR.search(text, len(head))
    if found is None:
        return head + gap + text[-rest:]
    start = text.rfind("\n", 0, found.start()) + 1
    start = min(start, len(text) - rest)
    return head + gap + text[start : start + rest]
