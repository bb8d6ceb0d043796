"""Forms of problems beyond a torch module's forward pass: plain functions and classes, numpy, and training.

Both roles put the same adapter around what they run, so that both are asked for the same things and pay the same for being asked.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from .channel import WorkerError
from .containers import Containers
from .trees import Untransportable, map_tensors, tensors_of

_COMPILED = "_orig_mod."

#: What a candidate's file is called where it is imported.
CANDIDATE_MODULE = "kernelwright_candidate"


@dataclass(frozen=True)
class Form:
    """How a problem wants to be called; travels as JSON from the trusted side to the other."""

    #: Inputs and outputs are numpy arrays, on the CPU.
    numpy: bool = False
    #: The parameters whose gradients are asked for; None where only the forward pass is.
    gradients: tuple[str, ...] | None = None
    #: Calls put other tensors into lists and dicts among their inputs, whose own memory is looked at.
    rebinds: bool = False

    @classmethod
    def parse(cls, value: object) -> Form:
        """Reads `to_json`; nothing stands for the usual form."""
        value = value if isinstance(value, dict) else {}
        gradients = value.get("gradients")
        return cls(bool(value.get("numpy")), tuple(map(str, gradients)) if isinstance(gradients, list) else None, bool(value.get("rebinds")))

    def to_json(self) -> dict[str, Any]:
        """The form as a reply carries it."""
        return {"numpy": self.numpy, "gradients": None if self.gradients is None else list(self.gradients), "rebinds": self.rebinds}

    def around(self, target: Callable[..., Any], device: torch.device) -> Callable[..., Any]:
        """What is called in the place of `target`."""
        if self.numpy:
            return Numpy(target, device)
        if self.gradients is not None:
            return Training(target, self.gradients)
        return Rebinding(target) if self.rebinds else target


def import_candidate(path: str) -> ModuleType:
    """Imports a candidate's file. It is in `sys.modules` while it runs: decorators of dataclasses and of Triton look there."""
    specification = importlib.util.spec_from_file_location(CANDIDATE_MODULE, path)
    if specification is None or specification.loader is None:
        raise ImportError(f"{os.path.basename(path)} is no Python file")
    module = importlib.util.module_from_spec(specification)
    sys.modules[CANDIDATE_MODULE] = module
    specification.loader.exec_module(module)
    return module


def entry_points(module: object) -> tuple[Callable[..., Any] | None, Callable[..., Any] | None]:
    """The class `ModelNew` and the function `kernel` of a candidate's module; an error where it has neither.

    A Triton kernel that happens to be called `kernel` is no entry point: it wants a grid.
    """
    made_by, kernel = getattr(module, "ModelNew", None), getattr(module, "kernel", None)
    if not callable(kernel) or type(kernel).__module__.partition(".")[0] == "triton":
        kernel = None
    if not callable(made_by):
        made_by = None
    if made_by is None and kernel is None:
        raise WorkerError("no_model_new", "import", "the file defines no class `ModelNew` and no function `kernel`")
    return made_by, kernel


class Function(nn.Module):
    """A function, or an object of a plain class, as a module without state."""

    def __init__(self, call: Callable[..., Any]) -> None:
        super().__init__()
        self._call = call

    def forward(self, *inputs: Any) -> Any:
        """Calls it."""
        return self._call(*inputs)


class _Adapter(nn.Module):
    """A module around another, which stays the one whose state counts."""

    def __init__(self, target: Callable[..., Any]) -> None:
        super().__init__()
        self.inner = target if isinstance(target, nn.Module) else Function(target)

    def state_dict(self, *arguments: Any, **named: Any) -> Any:
        """That of the inner module."""
        return self.inner.state_dict(*arguments, **named)

    def load_state_dict(self, *arguments: Any, **named: Any) -> Any:
        """That of the inner module."""
        return self.inner.load_state_dict(*arguments, **named)

    def compiled(self, **options: Any) -> Callable[..., Any]:
        """The same through `torch.compile`."""
        return torch.compile(self, **options)


class Numpy(_Adapter):
    """Gives tensors to code that works on numpy arrays, sharing their memory on the CPU, and makes tensors of what it returns.

    A candidate on a GPU gets its tensors as they are: numpy has no arrays there.
    """

    def __init__(self, target: Callable[..., Any], device: torch.device) -> None:
        super().__init__(target)
        self._device = device
        #: Which of the input tensors the code writes into; known after a first call. On the CPU it writes into their own memory.
        self._written: list[bool] | None = None if device.type != "cpu" else []

    def forward(self, *inputs: Any) -> Any:
        """Calls the code on arrays."""
        arrays = arrays_for(list(inputs))
        outputs = tensors_for(self.inner(*arrays), self._device)
        if self._written != []:
            self._write_back(list(inputs), arrays)
        return outputs

    def _write_back(self, inputs: list[Any], arrays: list[Any]) -> None:
        pairs = list(zip(tensors_of(inputs), tensors_of(tensors_for(arrays))))
        if self._written is None:
            written = [not torch.equal(tensor.cpu(), array) for tensor, array in pairs]
            self._written = written if any(written) else []
        for (tensor, array), is_written in zip(pairs, self._written):
            if is_written:
                tensor.copy_(array)


class Rebinding(_Adapter):
    """A call that may put other tensors into lists and dicts among its inputs."""

    def forward(self, *inputs: Any) -> Any:
        """Calls it, and has what it has put there lie where the inputs lay."""
        containers = Containers(list(inputs))
        outputs = self.inner(*inputs)
        containers.put_back()
        return outputs


class Training(_Adapter):
    """A forward and a backward pass: outputs, and the gradients of floating inputs and named parameters.

    The last input is the list of the floating outputs' own gradients. They are inputs like the others, drawn afresh for every call.
    """

    def __init__(self, target: Callable[..., Any], names: tuple[str, ...]) -> None:
        super().__init__(target)
        self._names = names
        #: Whether another forward pass comes between the two: what a backward pass goes by belongs to its own forward pass, not to the last one.
        self.interleaves = False

    def forward(self, *inputs: Any) -> dict[str, Any]:
        """Runs both passes; a gradient that does not exist is None."""
        *arguments, upstream = inputs
        leaves: list[Tensor] = []

        def leaf(tensor: Tensor) -> Tensor:
            if not differentiable(tensor):
                return tensor
            leaves.append(tensor.detach().requires_grad_(True))
            return leaves[-1]

        with torch.enable_grad():
            outputs = self.inner(*map_tensors(arguments, leaf))
            if self.interleaves:
                self.inner(*map_tensors(arguments, _other_leaf))
            pairs = [(output, gradient) for output, gradient in zip(filter(differentiable, tensors_of(outputs)), upstream) if _matches(output, gradient)]
            known = {name.replace(_COMPILED, ""): parameter for name, parameter in self.inner.named_parameters()}
            parameters = {name: known[name] for name in self._names if name in known and known[name].requires_grad}
            sources = [*leaves, *parameters.values()]
            gradients: list[Tensor | None] = [None] * len(sources)
            if pairs and sources:
                for source in sources:
                    # What a pass before has left there, such as one to warm up, is not of this one.
                    source.grad = None
                gradients = list(torch.autograd.grad([p[0] for p in pairs], sources, [p[1] for p in pairs], allow_unused=True))
                gradients = [_with_what_is_added(*pair) for pair in zip(sources, gradients)]
        of_parameters = dict(zip(parameters, gradients[len(leaves) :]))
        return {
            "output": map_tensors(outputs, lambda tensor: tensor.detach()),
            "input_gradients": gradients[: len(leaves)],
            "parameter_gradients": {name: of_parameters.get(name) for name in self._names},
        }

    def compiled(self, **options: Any) -> Callable[..., Any]:
        """The compiled module in the same frame: its backward pass is compiled with it."""
        return Training(torch.compile(self.inner, **options), self._names)


def compiled(module: nn.Module, **options: Any) -> Callable[..., Any]:
    """A module of any form through `torch.compile`."""
    return module.compiled(**options) if isinstance(module, _Adapter) else torch.compile(module, **options)


def differentiable(tensor: Tensor) -> bool:
    """Whether a tensor of this dtype has a gradient."""
    return tensor.is_floating_point() or tensor.is_complex()


def _other_leaf(tensor: Tensor) -> Tensor:
    return tensor.detach().mul(0.5).requires_grad_(True) if differentiable(tensor) else tensor.clone()


def _with_what_is_added(source: Tensor, gradient: Tensor | None) -> Tensor | None:
    """A gradient with what the backward pass has added to `.grad` by itself: `backward()` would leave the sum of both there."""
    added, source.grad = source.grad, None
    return gradient if added is None else added if gradient is None else gradient + added


def _matches(output: Tensor, gradient: Tensor) -> bool:
    return output.requires_grad and output.shape == gradient.shape and output.dtype == gradient.dtype


def has_arrays(value: Any) -> bool:
    """Whether there is a numpy array in a value."""
    if isinstance(value, dict):
        return any(map(has_arrays, value.values()))
    return any(map(has_arrays, value)) if isinstance(value, (list, tuple)) else _is_array(value)


def _is_array(value: object) -> bool:
    kind = type(value)
    return kind.__module__ == "numpy" and (kind.__name__ == "ndarray" or hasattr(kind, "dtype"))


def arrays_for(value: Any) -> Any:
    """A value with arrays in the place of its tensors; on the CPU they share memory."""
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy()
    if isinstance(value, dict):
        return {key: arrays_for(item) for key, item in value.items()}
    return _mapped(value, arrays_for)


def tensors_for(value: Any, device: torch.device | None = None) -> Any:
    """A value with tensors in the place of its arrays and numpy scalars; raises `Untransportable` for arrays of other than numbers."""
    if _is_array(value):
        import numpy

        try:
            # torch knows no negative strides, and numpy's scalars are no arrays.
            tensor = torch.from_numpy(numpy.ascontiguousarray(value).reshape(numpy.shape(value)))
        except TypeError as error:
            raise Untransportable(f"a numpy array of dtype {value.dtype}") from error
        return tensor if device is None else tensor.to(device)
    if isinstance(value, dict):
        return {key: tensors_for(item, device) for key, item in value.items()}
    return _mapped(value, lambda item: tensors_for(item, device))


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """A list or tuple with changed items; named tuples, as numpy's decompositions return them, become plain ones."""
    if isinstance(value, (list, tuple)):
        return (list if isinstance(value, list) else tuple)(map(change, value))
    return value
