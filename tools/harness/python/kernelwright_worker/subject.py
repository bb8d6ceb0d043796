"""What is profiled: the problem's own module, or a candidate's with the problem's inputs, ready to be called.

A candidate's code runs in this very process, so the process is sandboxed by whoever started it and nothing it reports decides anything.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from . import failures
from .channel import WorkerError
from .device import seed_all

# How folders of loaded sources begin; tracebacks are cut to frames from there.
PREFIX = "kernelwright-profile-"


class Subject:
    """A module and one set of inputs on a device; calling it runs the module once."""

    def __init__(self, module: Any, inputs: list, error_kind: str) -> None:
        self._module = module
        self._inputs = inputs
        self._error_kind = error_kind

    def __call__(self) -> object:
        try:
            return self._module(*self._inputs)
        except Exception as error:
            raise _failure(self._error_kind, "run", error) from error


def load_subject(problem: str, candidate: str | None, device: torch.device, seed: int) -> Subject:
    """Builds `Model`, or `ModelNew` with the parameters and buffers of `Model`, and the inputs of one call.

    Seeds as the evaluation does: before the modules are built and before the inputs are made. Raises `WorkerError`.
    """
    theirs = _load(problem, "problem", "problem_import")
    for name in ("Model", "get_inputs"):
        if not callable(getattr(theirs, name, None)):
            raise WorkerError("problem_shape", "import", f"the problem defines no `{name}`")
    get_init_inputs = getattr(theirs, "get_init_inputs", list)
    try:
        seed_all(seed)
        init = list(get_init_inputs())
        module = _module(theirs.Model, init, device, seed)
        seed_all(seed)
        inputs = [_moved(value, device) for value in theirs.get_inputs()]
    except Exception as error:
        raise _failure("problem_run", "construct", error) from error
    if candidate is None:
        return Subject(module, inputs, "problem_run")

    ours = _load(candidate, "candidate", "import")
    if not callable(getattr(ours, "ModelNew", None)):
        raise WorkerError("no_model_new", "import", "the candidate defines no `ModelNew`")
    try:
        new = _module(ours.ModelNew, init, device, seed)
        _copy_state(module, new)
    except Exception as error:
        raise _failure("construct", "construct", error) from error
    return Subject(new, inputs, "run")


def _load(source: str, name: str, error_kind: str) -> ModuleType:
    """Imports source text from a file of its own: Triton and tracebacks read the source back from disk."""
    path = Path(tempfile.mkdtemp(prefix=PREFIX)) / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(f"kernelwright_{name}", path)
    assert spec is not None and spec.loader is not None, "a .py file always has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise _failure(error_kind, "import", error) from error
    return module


def _module(make: Callable[..., Any], init: list, device: torch.device, seed: int) -> Any:
    seed_all(seed)
    module = make(*init)
    if isinstance(module, torch.nn.Module):
        module = module.to(device).eval()
    return module


def _copy_state(source: Any, destination: Any) -> None:
    """Copies parameters and buffers where name, shape and dtype match; whatever else the candidate keeps is its own affair."""
    if not (isinstance(source, torch.nn.Module) and isinstance(destination, torch.nn.Module)):
        return
    given = source.state_dict()
    for name, tensor in destination.state_dict().items():
        origin = given.get(name)
        if origin is not None and origin.shape == tensor.shape and origin.dtype == tensor.dtype:
            tensor.copy_(origin)


def _moved(value: Any, device: torch.device) -> Any:
    """The value with every tensor in it on the device."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_moved(item, device) for item in value)
    if type(value) is dict:
        return {key: _moved(item, device) for key, item in value.items()}
    return value


def _failure(kind: str, phase: str, error: BaseException) -> WorkerError:
    return failures.describe(error, kind, phase, lambda filename: PREFIX in filename)
