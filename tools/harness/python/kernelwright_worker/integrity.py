"""What a candidate has changed or searched in its own process: replaced clocks, comparisons and worker code, hooks left behind, object scans.

No verdict rests on this process behaving well, so what is found here only makes the judgement stricter: it names an attempt that would
otherwise just have had no effect. A candidate that also replaces this module goes unnamed, and gains nothing by it.
"""

from __future__ import annotations

import gc
import inspect
import mmap
import os
import sys
import time
from collections.abc import Mapping
from types import CodeType, FunctionType
from typing import Any

import torch
from torch import Tensor

_PACKAGE = __name__.rpartition(".")[0]
_CLOCKS = ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time", "process_time_ns")
_TENSOR = ("__eq__", "__ne__", "equal", "allclose", "isclose", "detach", "data_ptr", "untyped_storage", "stride", "is_contiguous", "numel", "copy_")
_TORCH = ("allclose", "isclose", "equal", "empty", "empty_like", "mul", "roll", "no_grad", "set_num_threads")
_SEARCHES = frozenset(("gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys._current_frames"))
#: Frames lead to the callers' variables, but logging, warnings and named ranges want a name and a line only, and how far somebody goes from one
#: frame to the next cannot be seen. So they are told of and decide nothing, but for timed calls. While a file is imported they only tell where it is.
_FRAMES = "sys._getframe"
#: The same in timed calls.
_FRAMES_IN_BATCH = f"{_FRAMES} in timed calls"
_HOOKS = frozenset(("sys.setprofile", "sys.settrace"))
_ABSENT = object()


class Integrity:
    """A record of what has to stay, made before the candidate is imported, and what was noticed since."""

    def __init__(self) -> None:
        #: Where the candidate's files are; nothing is noticed before that is known.
        self._folder: str | None = None
        self._searches: set[str] = set()
        self._calling = False
        self._asking = False
        #: Whether a batch is timed: by then its callers hold the inputs of all its calls.
        self.in_batch = False
        # As they are stored, without descriptors: a method of a class is a new object whenever it is asked for.
        self._places: list[tuple[Mapping[str, Any], str, Any, str]] = []
        self._functions: list[tuple[FunctionType, CodeType, str]] = []
        watched: list[tuple[str, Any, tuple[str, ...]]] = [
            ("time", time, _CLOCKS),
            ("gc", gc, ("collect", "disable", "enable", "freeze")),
            ("mmap", mmap, ("mmap",)),
            ("os", os, ("_exit",)),
            ("torch", torch, _TORCH),
            ("torch.Tensor", Tensor, _TENSOR),
            ("torch.testing", torch.testing, ("assert_close",)),
            ("torch.cuda", torch.cuda, ("torch", "device", "synchronize", "Event", "Stream", "current_stream", "elapsed_time")),
            ("torch.cuda.Event", torch.cuda.Event, ("record", "elapsed_time", "synchronize", "query", "wait")),
            ("torch.cuda.Stream", torch.cuda.Stream, ("synchronize", "wait_stream", "record_event")),
            ("torch._C", torch._C, ("_cuda_synchronize",)),
        ]
        triton = sys.modules.get("triton.testing")
        if triton is not None:
            watched.append(("triton.testing", triton, ("do_bench", "do_bench_cudagraph")))
        for label, owner, names in watched:
            for name in names:
                self._keep(label, owner, name)
        for label, module in list(sys.modules.items()):
            if label.startswith(_PACKAGE + "."):
                self._keep_members(label, module)
        sys.addaudithook(self._audit)

    def _keep_members(self, label: str, owner: Any) -> None:
        for name, value in list(vars(owner).items()):
            if isinstance(value, type) and value.__module__ == label:
                self._keep(label, owner, name)
                for method, inner in list(vars(value).items()):
                    if callable(inner) or isinstance(inner, (property, classmethod, staticmethod)):
                        self._keep(f"{label}.{name}", value, method)
            elif callable(value):
                self._keep(label, owner, name)

    def _keep(self, label: str, owner: Any, name: str) -> None:
        holders = owner.__mro__ if isinstance(owner, type) else (owner,)
        for holder in holders:
            value = vars(holder).get(name, _ABSENT)
            # What stands in a base is replaced as well by putting something in front of it.
            self._places.append((vars(holder), name, value, f"{label}.{name}"))
            if value is not _ABSENT:
                break
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if isinstance(function, FunctionType):
            self._functions.append((function, function.__code__, f"{label}.{name}"))

    def _audit(self, event: str, _arguments: tuple[Any, ...]) -> None:
        # Called for every import, file and more: the quick answer first.
        if event in _SEARCHES or event in _HOOKS or (event == _FRAMES and self._calling and not self._asking):
            self._asking = True
            caller = sys._getframe(1)
            while caller is not None and caller.f_code.co_filename == inspect.__file__:
                caller = caller.f_back
            self._asking = False
            if caller is not None and self._folder is not None and caller.f_code.co_filename.startswith(self._folder):
                self._searches.add(_FRAMES_IN_BATCH if event == _FRAMES and self.in_batch else event)

    def import_begins(self, folder: str) -> None:
        """From here on code of files in this folder is the candidate's."""
        self._folder = folder

    def calls_begin(self) -> None:
        """From here on frames are those of calls, with the evaluator among the callers."""
        self._calling = True

    def findings(self) -> list[dict[str, str]]:
        """What was noticed, as rule and message, gravest first; empty for a candidate that keeps to its own. A `severity` is there where nothing is decided."""
        found = []
        changed = [label for place, name, value, label in self._places if place.get(name, _ABSENT) is not value]
        changed += [label for function, code, label in self._functions if function.__code__ is not code]
        if changed:
            found.append(_finding("tampering", f"it has replaced {_listed(changed)}"))
        if sys.gettrace() is not None or sys.getprofile() is not None or self._searches & _HOOKS:
            found.append(_finding("tampering", "it has installed a hook that sees every call of its process"))
        modes = _foreign_modes()
        if modes:
            found.append(_finding("tampering", f"it has left a mode on that sees every operator of its process: {_listed(modes)}"))
        searches = sorted(self._searches - _HOOKS - {_FRAMES})
        if searches:
            found.append(_finding("memory_scan", f"it has searched its process for objects that are not its own, by {_listed(searches)}"))
        if _FRAMES in self._searches:
            message = f"it looks at its callers while it is called ({_FRAMES}): in timed calls that is refused"
            found.append({**_finding("reads_frames", message), "severity": "warning"})
        return found


def _foreign_modes() -> list[str]:
    """Modes that are on between calls. `torch.set_default_device` is one, and changes nothing for us."""
    try:
        functions = [torch._C._get_function_stack_at(i) for i in range(torch._C._len_torch_function_stack())]
        dispatches = [torch._C._get_dispatch_stack_at(i) for i in range(torch._C._len_torch_dispatch_stack())]
    except (AttributeError, RuntimeError):  # another version of torch keeps them elsewhere
        return []
    return [type(mode).__qualname__ for mode in functions + dispatches if type(mode).__module__ != "torch.utils._device"]


def _finding(rule: str, message: str) -> dict[str, str]:
    return {"rule": rule, "message": message}


def _listed(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
