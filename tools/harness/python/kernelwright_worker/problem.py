"""The user's problem file: `Model`, `get_inputs` and, where it takes arguments, `get_init_inputs`."""

from __future__ import annotations

import linecache
import sys
import types
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from . import failures
from .channel import WorkerError
from .device import Device, seed_all
from .layout import admit_plain, fresh_copy
from .trees import Untransportable, map_tensors, tensors_of

_MODULE_NAME = "kernelwright_problem"


class Problem:
    """A loaded problem file. Its code is trusted; its mistakes are reported with their place in the file."""

    def __init__(self, source: str, name: str) -> None:
        # No file holds it, so that a candidate finds none to read; linecache serves tracebacks and `inspect.getsource`.
        self._filename = f"kernelwright-problem/{name}"
        linecache.cache[self._filename] = (len(source), None, source.splitlines(keepends=True), self._filename)
        module = types.ModuleType(_MODULE_NAME)
        module.__file__ = self._filename
        sys.modules[_MODULE_NAME] = module
        with self._reported("problem_import", "import"):
            exec(compile(source, self._filename, "exec"), module.__dict__)
        self._module = module
        self._model = self._member("Model", required=True)
        self._get_inputs = self._member("get_inputs", required=True)
        self._get_init_inputs = self._member("get_init_inputs", required=False)

    def _member(self, name: str, required: bool) -> Any:
        member = getattr(self._module, name, None)
        if member is None and required:
            raise WorkerError("problem_shape", "import", f"the problem file defines no `{name}`")
        if member is not None and not callable(member):
            raise WorkerError("problem_shape", "import", f"`{name}` of the problem file is not callable")
        return member

    def _reported(self, kind: str, phase: str) -> _Reported:
        return _Reported(kind, phase, self._filename)

    def init_inputs(self, seed: int) -> list[Any]:
        """The arguments of `Model`."""
        if self._get_init_inputs is None:
            return []
        seed_all(seed)
        with self._reported("problem_run", "get_init_inputs"):
            values = self._get_init_inputs()
        return self._plain(_sequence(values, "get_init_inputs"), "get_init_inputs")

    def build(self, init: list[Any], seed: int, device: Device) -> nn.Module:
        """`Model(*init)` in eval mode on the device. Parameters are drawn on the CPU, as the candidate's are."""
        seed_all(seed)
        with self._reported("problem_run", "construct"):
            model = self._model(*init)
        if not isinstance(model, nn.Module):
            raise WorkerError("problem_shape", "construct", f"`Model` is no torch.nn.Module but {type(model).__name__}")
        with self._reported("problem_run", "construct"):
            return model.eval().to(device.torch)

    def inputs(self, seed: int, device: Device) -> list[Any]:
        """The inputs of one call, on the device."""
        with self._reported("problem_run", "get_inputs"):
            values = self._draw(seed, device)
        plain = self._plain(_sequence(values, "get_inputs"), "get_inputs")
        return map_tensors(plain, lambda tensor: tensor if tensor.device == device.torch else fresh_copy(tensor, device.torch))

    def _draw(self, seed: int, device: Device) -> Any:
        if device.is_cuda:
            # Large inputs are drawn many times faster on the device; code that insists on the CPU is run again there.
            seed_all(seed)
            try:
                with device.torch:
                    return self._get_inputs()
            except RuntimeError:
                pass
        seed_all(seed)
        return self._get_inputs()

    def _plain(self, values: list[Any], function: str) -> list[Any]:
        """The values as a transport leaves them, so that both sides get the same containers."""
        try:
            for tensor in tensors_of(values):
                admit_plain(tensor)
            return map_tensors(values, lambda tensor: tensor)
        except Untransportable as error:
            raise WorkerError("unsupported", function, f"`{function}` returns {error}") from error

    def run(self, module: Callable[..., Any], inputs: list[Any]) -> Any:
        """One call of a module of this problem, without gradients."""
        with self._reported("problem_run", "run"), torch.no_grad():
            return module(*inputs)


class _Reported:
    """Turns exceptions of the problem's code into errors with its own frames."""

    def __init__(self, kind: str, phase: str, filename: str) -> None:
        self._kind, self._phase, self._filename = kind, phase, filename

    def __enter__(self) -> None:
        return None

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> bool:
        if error is not None and not isinstance(error, WorkerError):
            raise failures.describe(error, self._kind, self._phase, lambda name: name == self._filename) from error
        return False


def _sequence(values: object, function: str) -> list[Any]:
    if not isinstance(values, (list, tuple)):
        raise WorkerError("problem_shape", function, f"`{function}` returns {type(values).__name__}, not a list of arguments")
    return list(values)
