"""The user's problem file: `Model`, `get_inputs` and, where it takes arguments, `get_init_inputs`.

A problem may have several sets of inputs: `SHAPES`, a list whose elements `get_inputs` takes one of, or `get_inputs_list()`, which returns the
inputs of every set. One of them is selected at any time; a problem of the usual form has one.

The reference may also be a plain class or, without `Model`, a function `reference`; either works on tensors or on numpy arrays, as its inputs
are. With `backward = True` the gradients are part of what it gives (see `forms.Training`).
"""

from __future__ import annotations

import inspect
import linecache
import re
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from . import failures, forms
from .channel import WorkerError
from .device import Device, seed_all
from .forms import Form, Function
from .layout import admit_plain, fresh_copy, window_of
from .ranges import Range, Watch
from .records import PROBLEM_MODULE
from .snapshot import is_strided
from .trees import Untransportable, map_tensors, tensors_of

#: Calls that say which element is the largest or smallest.
_PICKS = re.compile(r"\barg(?:min|max)\(")
#: Calls that may put equal elements in any order.
_ORDERS = re.compile(r"\b(?:topk|argpartition|kthvalue|median|mode)\(|\b(?:arg)?sort\((?![^\n]*\b(?:stable\s*=\s*True|kind\s*=\s*[\"']stable))")
#: Calls that take values in order for granted.
_SEARCHES = re.compile(r"\b(?:searchsorted|bucketize)\(")
#: Calls that have no answer for a singular matrix.
_DECOMPOSES = re.compile(
    r"linalg\.(?!(?:vector_|matrix_)?norm\b|mat(?:mul|rix_exp|rix_power)\b|multi_dot\b|cross\b|vecdot\b|diagonal\b)"
    r"|\b(?:inverse|p?inv|cholesky\w*|solve|triangular_solve|lu\w*|lstsq|(?:slog|log)?det|qr|svd|eigh?)\("
)

#: Calls that come to one of several where what they are given is large.
_SATURATES = re.compile(r"softmax|logsumexp|scaled_dot_product_attention|cross_entropy|\bexp\(", re.IGNORECASE)


class Problem:
    """A loaded problem file. Its code is trusted; its mistakes are reported with their place in the file."""

    def __init__(self, source: str, name: str) -> None:
        # No file holds it, so that a candidate finds none to read; linecache serves tracebacks and `inspect.getsource`.
        self._filename = f"kernelwright-problem/{name}"
        self._source = source
        linecache.cache[self._filename] = (len(source), None, source.splitlines(keepends=True), self._filename)
        module = types.ModuleType(PROBLEM_MODULE)
        module.__file__ = self._filename
        sys.modules[PROBLEM_MODULE] = module
        with self.reported("problem_import", "import"):
            exec(compile(source, self._filename, "exec"), module.__dict__)
        self._module = module
        #: Whether it decomposes matrices: one that has a row or an element twice may be none to decompose.
        self.decomposes = _DECOMPOSES.search(source) is not None
        #: Whether it searches among values that have to be in order.
        self.searches = _SEARCHES.search(source) is not None
        #: Whether it weighs by exponentials, of which one may take all.
        self.saturates = _SATURATES.search(source) is not None
        #: Whether it orders elements, of which equal ones may come in any order.
        self.orders = _ORDERS.search(source) is not None
        #: Whether it chooses elements, of which a NaN may be one.
        self.chooses = self.orders or _PICKS.search(source) is not None
        #: From what ranges the integers of the last inputs were drawn.
        self.ranges: tuple[Range | None, ...] = ()
        self._reference = self._member("reference", required=False)
        self._model = self._member("Model", required=self._reference is None)
        #: Whether a backward pass belongs to a call.
        self.trains = getattr(self._module, "backward", False) is True
        #: Whether its inputs ask for gradients and the file does not say what of them.
        self.leaves_gradients_open = False
        self.form = Form()
        self._inner: nn.Module | None = None
        #: Shape and dtype of the selected set's floating outputs, where gradients are asked for.
        self._outputs: list[tuple[torch.Size, torch.dtype]] | None = None
        self._get_init_inputs = self._member("get_init_inputs", required=False)
        self._sets = self._input_sets()
        self._current = self._sets[0]
        self._get_check_inputs = self._member("get_check_inputs", required=False)

    def _member(self, name: str, required: bool) -> Any:
        member = getattr(self._module, name, None)
        if member is None and required:
            raise WorkerError("problem_shape", "import", f"the problem file defines no `{name}`")
        if member is not None and not callable(member):
            raise WorkerError("problem_shape", "import", f"`{name}` of the problem file is not callable")
        return member

    def _input_sets(self) -> list[_InputSet]:
        """The sets of inputs, each with its name; a set without one is named by what it holds."""
        shapes, get_inputs_list = getattr(self._module, "SHAPES", None), self._member("get_inputs_list", required=False)
        get_inputs = self._member("get_inputs", required=shapes is not None or get_inputs_list is None)
        # A function that takes nothing has a use of its own for what it calls so.
        if shapes is not None and inspect.signature(get_inputs).parameters:
            if not isinstance(shapes, (list, tuple)) or not shapes:
                raise WorkerError("problem_shape", "import", "`SHAPES` of the problem file is no list, or an empty one")
            return [_InputSet(_label(shape), "get_inputs", lambda shape=shape: _with(get_inputs, shape)) for shape in shapes]
        if get_inputs_list is None:
            return [_InputSet("", "get_inputs", get_inputs)]
        with self.reported("problem_run", "get_inputs_list"):
            count = len(_sequence(get_inputs_list(), "get_inputs_list"))
        if not count:
            raise WorkerError("problem_shape", "get_inputs_list", "`get_inputs_list` returns no set of inputs")
        return [_InputSet("", "get_inputs_list", lambda i=i: _sequence(get_inputs_list(), "get_inputs_list")[i]) for i in range(count)]

    def constants(self) -> dict[str, Any]:
        """Names in capitals that the file gives plain data: what a kernel may import from it."""
        return {name: value for name, value in vars(self._module).items() if name.isupper() and _is_plain(value)}

    def sets(self) -> list[str]:
        """The names of the sets of inputs, in their order; empty where a set has no name of its own."""
        return [one.name for one in self._sets]

    def select(self, index: int) -> None:
        """Takes the inputs of this set from here on."""
        if not 0 <= index < len(self._sets):
            raise WorkerError("internal", "select", f"there is no set {index!r} of inputs")
        self._current, self._outputs = self._sets[index], None

    def reported(self, kind: str, phase: str) -> _Reported:
        """What the problem's own code raises inside, told as its error."""
        selected = self.__dict__.get("_current")
        return _Reported(kind, phase, self._filename, selected.name if selected is not None else "")

    def init_inputs(self, seed: int) -> list[Any]:
        """The arguments of `Model`."""
        if self._get_init_inputs is None:
            return []
        seed_all(seed)
        with self.reported("problem_run", "get_init_inputs"):
            values = self._get_init_inputs()
        return self._plain(_sequence(values, "get_init_inputs"), "get_init_inputs")

    def build(self, init: list[Any], seed: int, device: Device) -> nn.Module:
        """`Model(*init)` in eval mode on the device, in its form. Parameters are drawn on the CPU, as the candidate's are."""
        is_numpy = self._uses_numpy(init, seed)
        if is_numpy and self.trains:
            raise WorkerError("problem_shape", "construct", "numpy has no gradients: `backward = True` needs a reference in torch")
        model = self._constructed(forms.arrays_for(init) if is_numpy else init, seed)
        if not callable(model):
            raise WorkerError("problem_shape", "construct", f"`Model` gives {type(model).__name__}, which cannot be called")
        with self.reported("problem_run", "construct"):
            inner = model if isinstance(model, nn.Module) else Function(model)
            self._inner = inner.eval().to(device.torch)
        names = tuple(name for name, parameter in self._inner.named_parameters() if parameter.requires_grad)
        self.form = Form(is_numpy, names if self.trains else None)
        adapted = self.form.around(self._inner, device.torch)
        return adapted if isinstance(adapted, nn.Module) else self._inner

    def state_drawn_again(self, init: list[Any], seed: int) -> dict[str, Any]:
        """The state, by name and on the CPU, of another module that is built alike under another seed; what is no module has none."""
        module = self._constructed(init, seed)
        return module.state_dict() if isinstance(module, nn.Module) else {}

    def _constructed(self, arguments: list[Any], seed: int) -> Any:
        seed_all(seed)
        with self.reported("problem_run", "construct"):
            return self._reference if self._model is None else self._model(*arguments)

    def inner(self, module: nn.Module) -> nn.Module:
        """The problem's own module inside of what `build` has made of it."""
        return self._inner if self._inner is not None else module

    def _uses_numpy(self, init: list[Any], seed: int) -> bool:
        """Whether the inputs are numpy arrays; a module of torch's has none."""
        if isinstance(self._model, type) and issubclass(self._model, nn.Module):
            return False
        seed_all(seed)
        with self.reported("problem_run", self._current.function):
            return forms.has_arrays(self._current.draw())

    def inputs(self, seed: int, device: Device) -> list[Any]:
        """The inputs of one call, on the device."""
        selected = self._current
        with self.reported("problem_run", selected.function):
            values, watch = _draw(selected.draw, seed, device)
        plain = self._plain(_sequence(values, selected.function), selected.function)
        if not hasattr(self._module, "backward"):
            self.leaves_gradients_open = any(map(_asks_for_gradients, tensors_of(plain)))
        if self.form.gradients is not None:
            plain.append(self._upstream(plain, device))
        self.ranges = watch.of(tensors_of(plain), self._source)
        return map_tensors(plain, lambda tensor: tensor if tensor.device == device.torch else fresh_copy(tensor, device.torch))

    def check_inputs(self, seed: int, device: Device) -> tuple[list[Any], str]:
        """The inputs of one call that is looked at closely, which takes long, and their name: the problem's own for that, else its smallest set."""
        selected = self._current, self._outputs
        own = self._get_check_inputs
        sets = self._sets if own is None else [_InputSet("get_check_inputs()", "get_check_inputs", own)]
        try:
            smallest: tuple[int, list[Any], str] | None = None
            for one in sets:
                self._current, self._outputs = one, None
                inputs = self.inputs(seed, device)
                size = sum(tensor.numel() * tensor.element_size() for tensor in tensors_of(inputs))
                if smallest is None or size < smallest[0]:
                    smallest = size, inputs, one.name
        finally:
            self._current, self._outputs = selected
        assert smallest is not None
        return smallest[1:]

    def _upstream(self, inputs: list[Any], device: Device) -> list[Tensor]:
        """Gradients of the floating outputs, to go back from: drawn like inputs, right after them."""
        if self._outputs is None:
            own = map_tensors(inputs, lambda tensor: fresh_copy(tensor, device.torch))
            module = self._inner or Function(self._reference)
            # No call that counts has been made yet: running statistics are as they were afterwards.
            windows = [window_of(buffer.detach()) for buffer in module.buffers() if is_strided(buffer)]
            before = [window.clone() for window in windows]
            with torch.random.fork_rng(devices=[device.torch] if device.is_cuda else []), torch.no_grad():
                outputs = self.run(module, own)
                for window, held in zip(windows, before):
                    window.copy_(held)
            self._outputs = [(tensor.shape, tensor.dtype) for tensor in tensors_of(outputs) if forms.differentiable(tensor)]
        return [torch.randn(shape, dtype=dtype) for shape, dtype in self._outputs]

    def _plain(self, values: list[Any], function: str) -> list[Any]:
        """The values as a transport leaves them, so that both sides get the same containers."""
        try:
            values = forms.tensors_for(values) if forms.has_arrays(values) else values
            for tensor in tensors_of(values):
                admit_plain(tensor)
            return map_tensors(values, _settled)
        except Untransportable as error:
            raise WorkerError("unsupported", function, f"`{function}` returns {error}") from error
        except RecursionError:
            raise WorkerError("unsupported", function, f"`{function}` returns what is nested too deeply, or holds itself") from None

    def run(self, module: Callable[..., Any], inputs: list[Any]) -> Any:
        """One call of a module of this problem, without gradients."""
        with self.reported("problem_run", "run"), torch.no_grad():
            return module(*inputs)


def _settled(tensor: Tensor) -> Tensor:
    """A tensor of which no conjugation or negation is pending: none travels, and the reference would do it anew in every call."""
    settled = tensor.resolve_conj().resolve_neg()
    return settled if settled is tensor else settled.detach().requires_grad_(tensor.requires_grad)


def _asks_for_gradients(tensor: Tensor) -> bool:
    """Whether somebody has asked for them: parameters, and what was computed from them, come with it."""
    return tensor.requires_grad and tensor.is_leaf and not isinstance(tensor, nn.Parameter)


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_plain(item) for item in value)
    return value is None or type(value) in (bool, int, float, str)


@dataclass(frozen=True)
class _InputSet:
    """One set of inputs: its name, the function of the problem file that makes it, and how to call that."""

    name: str
    function: str
    draw: Callable[[], Any]


def _draw(make: Callable[[], Any], seed: int, device: Device) -> tuple[Any, Watch]:
    if device.is_cuda:
        # Large inputs are drawn many times faster on the device; code that insists on the CPU is run again there.
        seed_all(seed)
        try:
            with device.torch, Watch() as watch:
                return make(), watch
        except Exception:  # numpy raises a TypeError, others what they like; what fails on the CPU too is told
            pass
    seed_all(seed)
    with Watch() as watch:
        return make(), watch


def _with(function: Callable[..., Any], shape: Any) -> Any:
    """`function` with an element of `SHAPES`: a tuple or a dict holds its arguments."""
    if isinstance(shape, tuple):
        return function(*shape)
    return function(**shape) if isinstance(shape, dict) else function(shape)


def _label(shape: object) -> str:
    """The name of an element of `SHAPES`, on one line."""
    text = shape if isinstance(shape, str) else repr(shape)
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "..."


class _Reported:
    """Turns exceptions of the problem's code into errors with its own frames."""

    def __init__(self, kind: str, phase: str, filename: str, selected: str = "") -> None:
        self._kind, self._phase, self._filename = kind, phase, filename
        self._advice = f"with the set of inputs {selected}" if selected else ""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> bool:
        if error is not None and not isinstance(error, WorkerError):
            raise failures.describe(error, self._kind, self._phase, lambda name: name == self._filename, self._advice) from error
        return False


def _sequence(values: object, function: str) -> list[Any]:
    if not isinstance(values, (list, tuple)):
        raise WorkerError("problem_shape", function, f"`{function}` returns {type(values).__name__}, not a list of arguments")
    return list(values)
