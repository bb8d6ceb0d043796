"""The candidate: one file with `ModelNew` or a function `kernel`, imported from where it was written so that `inspect.getsource` finds its kernels.

Its code runs in this process. Whatever it returns is reduced to plain tensors and data before anything is said about it.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from . import another_state, built_in_state, failures, forms
from .canaries import Canaries
from .channel import WorkerError
from .device import Device, seed_all
from .forms import Form
from .layout import admit_plain, overlaps, same_bits
from .next_reader import NextReader
from .snapshot import Snapshot
from .trees import Tree, Untransportable, decode, encode

_CONSTANTS_ONLY = "a candidate can import the problem's capitalised constants only: copy the class into the candidate"
_NO_SHARED_MEMORY = "processes with shared memory are not available to candidates: use threads"
_PROCESSES = os.path.dirname(multiprocessing.__file__) + os.sep

# Bound before any candidate is imported: a candidate that replaces these by accident must not break what is reported of it.
_no_grad = torch.no_grad
_describe = failures.describe
_overlaps, _same_bits = overlaps, same_bits
_set_by_hand, _dependent, _other_values = another_state.set_by_hand, another_state.dependent, another_state.other_values
_NextReader, _Canaries = NextReader, Canaries
_built_with, _Snapshot = built_in_state.built_with, Snapshot


@dataclass(frozen=True)
class OtherState:
    """A state that follows from a seed, of the reference's tensors of these names; and how those of a module that is being built are told."""

    seed: int
    names: frozenset[str]
    policy: str = built_in_state.BY_VALUE

    @classmethod
    def parse(cls, value: object) -> OtherState | None:
        """Reads that of a request; null is none."""
        if not isinstance(value, dict):
            return None
        return cls(int(value["seed"]), frozenset(map(str, value["names"])), str(value.get("policy", cls.policy)))


class Candidate:
    """An imported candidate and, after `construct`, its module."""

    def __init__(self, path: str, device: Device, seed: int) -> None:
        self._path = os.path.abspath(path)
        self._folder = os.path.dirname(self._path) + os.sep
        self._device = device
        self._seed = seed
        self._class: Any = None
        #: What is called where there is no class.
        self._kernel: Any = None
        self._module: Any = None
        #: Which of the reference's parameters and buffers were copied into it.
        self._held: set[str] = set()
        #: What the module holds before every run, where calls depend on those before them.
        self._before_runs: Snapshot | None = None
        #: What of the reference's state may come to hold other values, as it is before the first call.
        self._variable: dict[str, Tensor] = {}
        self._next_reader, self._canaries = _NextReader(device, _text_of(path)), _Canaries(device)
        #: How many elements of the last call's outputs its caller's stream would have read before they were written.
        self.missed = 0
        #: What it can import of the problem.
        self._offered: ModuleType | None = None

    def offer(self, problem_name: object, constants: object) -> None:
        """Lets the candidate import the problem's constants, and nothing else of it, by the name of the problem's file."""
        name = os.path.splitext(os.path.basename(problem_name))[0] if isinstance(problem_name, str) else ""
        if name.isidentifier() and name not in sys.modules and isinstance(constants, dict):
            module = ModuleType(name, "The constants of the problem file.")
            module.__dict__.update(decode(constants, [], records=True))
            sys.modules[name] = self._offered = module

    def guarded(self, kind: str, phase: str, work: Callable[[], Any]) -> Any:
        """Runs the candidate's code; whatever it raises, exits included, becomes an error with its own frames."""
        try:
            return work()
        except WorkerError as error:
            # Only ours: a candidate can raise one too, and must not choose what it is blamed for.
            raise error if error.kind in (kind, "output_type") else _describe(error, kind, phase, self._is_own) from None
        except BaseException as error:
            raise _describe(error, kind, phase, self._is_own, self._advice(error)) from None

    def _advice(self, error: BaseException) -> str:
        """What to do about an error that comes of how candidates are run."""
        offered = self._offered
        if offered is not None:
            asked = error.name if isinstance(error, ImportError) else None
            if (asked or "").partition(".")[0] == offered.__name__ or (isinstance(error, AttributeError) and error.obj is offered):
                return _CONSTANTS_ONLY
        # torch says it in words; what the standard library shares fails in its own modules.
        if isinstance(error, RuntimeError) and "unable to open shared memory object" in str(error):
            return _NO_SHARED_MEMORY
        calls = traceback.extract_tb(error.__traceback__) if isinstance(error, OSError) else []
        return _NO_SHARED_MEMORY if any(call.filename.startswith(_PROCESSES) for call in calls) else ""

    def _is_own(self, file: str) -> bool:
        return file.startswith(self._folder)

    def import_file(self) -> None:
        """Imports the file and finds what to call."""
        self._class, self._kernel = forms.entry_points(self.guarded("import", "import", lambda: forms.import_candidate(self._path)))

    def construct(self, init: list[Any], state: list[tuple[str, Tensor]], form: Form, other: OtherState | None = None, carries_state: bool = False) -> list[str]:
        """Builds `ModelNew` as the reference was built, copies the reference's state by name and gives it the problem's form; in the `other` state from the
        beginning, where there is one. Where it `carries_state` from call to call, every run begins with this one. The names that found no counterpart."""
        known = dict(state)
        self._variable = {**_set_by_hand(known), **_dependent(known), **{name: known[name] for name in form.gradients or () if name in known}}
        if form.numpy:
            # There are no arrays on a GPU: its candidates work on tensors.
            init, form = (forms.arrays_for(init), form) if not self._device.is_cuda else (init, Form())
        self._device.set_flags()
        seed_all(self._seed)
        module = self.guarded("construct", "construct", lambda: self._build(init, other))
        unmatched = self.guarded("construct", "construct", lambda: self._adopt(module, state))
        self._held = {name for name, _tensor in state} - set(unmatched)
        if other is not None:
            others = list(_other_values(self._own(other), other.seed).items())
            self.guarded("construct", "construct", lambda: self._adopt(module, others))
        self._before_runs = _Snapshot.of(module) if carries_state else None
        self._device.synchronize()
        self._module = form.around(module, self._device.torch)
        return unmatched

    def vary(self, other: OtherState, is_left: bool) -> dict[str, Any]:
        """Goes over to another state, or back to the first one."""
        own = self._own(other)
        state = own if is_left else _other_values(own, other.seed)
        unmatched = self.guarded("run", "run", lambda: self._adopt(self._module, list(state.items())))
        self._device.synchronize()
        return {"unmatched": unmatched}

    def _own(self, other: OtherState) -> dict[str, Tensor]:
        return {name: tensor for name, tensor in self._variable.items() if name in other.names}

    def _build(self, init: list[Any], other: OtherState | None) -> Any:
        if self._class is None:
            return self._kernel
        with nullcontext() if other is None else _built_with(self._own(other), other.seed, other.policy):
            module = self._class(*init)
        if isinstance(module, torch.nn.Module):
            return module.eval().to(self._device.torch)
        if not callable(module):
            raise TypeError(f"`ModelNew` gives {type(module).__name__}, which cannot be called")
        return module

    def _adopt(self, module: Any, state: list[tuple[str, Tensor]]) -> list[str]:
        """Copies what has a counterpart of the same name, shape and dtype; the names of what has none."""
        own = module.state_dict() if isinstance(module, torch.nn.Module) else {}
        unmatched = []
        with _no_grad():
            for name, tensor in state:
                target = own.get(name)
                if not isinstance(target, Tensor) or target.shape != tensor.shape or target.dtype != tensor.dtype:
                    unmatched.append(name)
                elif not _overlaps(target):
                    target.copy_(tensor)
                elif not _same_bits(target, tensor.to(target.device)):
                    # An expanded tensor has fewer values than elements.
                    unmatched.append(name)
        return unmatched

    def module(self) -> Callable[..., Any]:
        """The constructed module."""
        if self._module is None:
            raise WorkerError("internal", "run", "the candidate was not constructed")
        return self._module

    def run(self, inputs: list[Any], poison: bool, like: list[Tensor], goes_on: bool = False) -> Any:
        """One synchronised call; what it returned. It begins with the module's first state, unless it `goes_on` after the last one."""
        module = self.module()
        self._device.set_flags()
        if self._before_runs is not None and not goes_on:
            self.guarded("run", "run", self._before_runs.restore)
            self._device.synchronize()

        def call() -> Any:
            with _no_grad():
                self._next_reader.before_call()
                outputs = module(*inputs)
                self._next_reader.after_call(outputs)
                self._device.synchronize()
                if poison and (overrun := self._canaries.overrun(outputs)) is not None:
                    raise WorkerError("run", "run", overrun)
                self.missed = self._next_reader.missed()
                return outputs

        if poison:
            self._device.poison(like)
            self._canaries.before_call()
        else:
            self._device.unpoison()
        try:
            return self.guarded("run", "run", call)
        finally:
            self._device.note_flags()

    def interleave(self, interleaves: bool) -> None:
        """Whether another forward pass comes between the two of the next calls, of a problem that is trained."""
        module = self.module()
        if isinstance(module, forms.Training):
            module.interleaves = interleaves

    def state(self, names: list[str]) -> dict[str, Any]:
        """What the module holds in those of these parameters and buffers that were copied into it."""
        module = self.module()
        own = module.state_dict() if isinstance(module, torch.nn.Module) else {}
        return {name: own[name].detach() for name in names if name in self._held and isinstance(own.get(name), Tensor)}

    def folder(self) -> str:
        """Where its files are, with a separator at the end."""
        return self._folder

    def plain(self, outputs: Any) -> tuple[Tree, list[Tensor]]:
        """Outputs as a tree and plain tensors; an error where they are anything else."""
        tensors: list[Tensor] = []

        def reduce() -> Tree:
            try:
                tree = encode(outputs, tensors, admit_plain)
            except Untransportable as error:
                raise WorkerError("output_type", "run", f"the candidate returns {error}") from None
            self._device.synchronize()
            return tree

        return self.guarded("output_type", "run", reduce), tensors


def _text_of(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
