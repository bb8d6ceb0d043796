"""The suite `aten`: one problem per operator, made from the samples of PyTorch's OpInfo database.

A problem calls the operator in one form (which arguments are tensors, and what the others are: that of the largest sample) on several sets of inputs: small and medium
shapes, strided memory, and every dtype among float32, bfloat16, float16, int64 and bool that the operator takes on the CPU and on a GPU.
The values are uniform between the bounds that the samples keep to. A problem file needs torch alone and says all there is to it; equal
versions of torch give equal files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from . import operators

#: The dtypes of the sets, in their order; the first that an operator takes is the one whose samples give the form.
DTYPES = (torch.float32, torch.int64, torch.bool, torch.bfloat16, torch.float16)
#: Dimensions of medium sets are this many times those of the sample; smaller ones are kernel sizes, channels and the like.
_GROWTH, _GROWING = 8, 4
#: A medium set is left out where its tensors would be larger than this together, or its call gave four times as much.
_MOST_BYTES = 2 << 20
_NAMES = ("x", "y", "z", "u", "v", "w")


@dataclass(frozen=True)
class Input:
    """One tensor of a set: what it is and between which bounds its values lie."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    #: None where the tensor is contiguous.
    strides: tuple[int, ...] | None
    low: float
    high: float

    @classmethod
    def like(cls, tensor: Tensor) -> Input:
        """What a sample's tensor is."""
        low, high = _bounds(tensor)
        strides = None if tensor.is_contiguous() else tuple(tensor.stride())
        return cls(tensor.dtype, tuple(tensor.shape), strides, low, high)

    def grown(self) -> Input:
        """The same in a medium size, contiguous."""
        return replace(self, shape=tuple(n * _GROWTH if n >= _GROWING else n for n in self.shape), strides=None)

    def strided(self) -> Input:
        """The same with its dimensions in the opposite order in memory, and room behind each row."""
        if len(self.shape) < 2 or 0 in self.shape:
            return self
        strides, step = [], 1
        for n in self.shape:
            strides.append(step)
            step *= n + (1 if len(strides) == 1 else 0)
        return replace(self, strides=tuple(strides))

    def nbytes(self) -> int:
        """The memory of its values."""
        return math.prod(self.shape) * self.dtype.itemsize

    def source(self) -> str:
        """The expression that draws it in a problem file."""
        text = f"draw({self.shape}, {self.dtype}, {_number(self.low, self.dtype)}, {_number(self.high, self.dtype)}"
        return f"{text}, {self.strides})" if self.strides is not None else f"{text})"

    def draw(self, run: int) -> Tensor:
        """A tensor as the problem file draws it. What lies between its elements in memory is another in the next run."""
        low, high = (self.low, self.high) if self.dtype.is_floating_point else (int(self.low), int(self.high))
        drawn = _draw(self.shape, self.dtype, low, high, self.strides)
        if self.strides is None:
            return drawn
        length = 1 + sum((n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True))
        memory = torch.full((length,), (low, high)[run % 2], dtype=self.dtype)
        return memory.as_strided(self.shape, self.strides).copy_(drawn)


@dataclass(frozen=True)
class _Tensor:
    """Stands for a tensor in the arguments of a form."""

    index: int


@dataclass(frozen=True)
class Call:
    """One sample: the form of its call and its tensors."""

    form: str
    inputs: tuple[Input, ...]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @classmethod
    def of(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        """None where an argument cannot be written down, or no tensor holds anything."""
        inputs: list[Input] = []
        try:
            plain = tuple(_plain(value, inputs) for value in args)
            named = {name: _plain(value, inputs) for name, value in kwargs.items()}
        except ValueError:
            return None
        if not any(math.prod(item.shape) for item in inputs) or any(0 in item.shape for item in inputs) or len(inputs) > len(_NAMES):
            return None
        call = cls("", tuple(inputs), plain, named)
        return replace(call, form=call.written("{all}{named}"))

    def written(self, template: str) -> str:
        """The call as a program has it (see `operators.CALLS`)."""
        args = [_text(value) for value in self.args]
        named = "".join(f", {name}={_text(value)}" for name, value in self.kwargs.items())
        return template.format(*args, all=", ".join(args), named=named)

    def run(self, function: Any, inputs: tuple[Input, ...], run: int) -> Any:
        """Calls the operator on inputs drawn afresh, the same in every run."""
        torch.manual_seed(7)
        drawn = [item.draw(run) for item in inputs]
        # Another state in every run: a generator that was seeded the same would hide that it was asked.
        torch.manual_seed(run)
        args = [_filled(value, drawn) for value in self.args]
        return function(*args, **{name: _filled(value, drawn) for name, value in self.kwargs.items()})

    def of_no_device(self, function: Any) -> Any:
        """Calls the operator on tensors that have no memory."""
        drawn = [torch.empty(item.shape, dtype=item.dtype, device="meta") for item in self.inputs]
        return function(*(_filled(value, drawn) for value in self.args), **{name: _filled(value, drawn) for name, value in self.kwargs.items()})

    def elements(self) -> int:
        """How much its tensors hold together."""
        return sum(math.prod(item.shape) for item in self.inputs)


def generate() -> Iterator[dict[str, str]]:
    """Every problem of the suite, then what was left out; each operator once."""
    done: set[str] = set()
    left_out: dict[str, str] = {}
    with operators.seeds_of_the_cpu_alone():
        for entry in operators.database():
            if entry.name in done:
                continue
            problem = _problem(entry)
            if isinstance(problem, str):
                left_out.setdefault(entry.name, problem)
                continue
            done.add(entry.name)
            yield problem
    for name, reason in left_out.items():
        if name not in done:
            yield {"excluded": name, "reason": reason}


def _problem(entry: Any) -> dict[str, str] | str:
    """The problem of an entry, or why there is none."""
    if entry.name in operators.EXCLUDED:
        return operators.EXCLUDED[entry.name]
    template = operators.call(entry)
    if template is None:
        return "it has no public name"
    supported = [dtype for dtype in DTYPES if dtype in operators.dtypes(entry)]
    if not supported:
        return "it takes none of the suite's dtypes on both the CPU and a GPU"
    calls = {dtype: _calls(entry, dtype) for dtype in supported}
    chosen = next((call for found in calls.values() if (call := _largest(entry, found)) is not None), None)
    if chosen is None:
        return "none of its samples can be written down as a problem"
    sets: dict[str, tuple[Input, ...]] = {}
    refused = ""
    for dtype, all_calls in calls.items():
        call = _largest(entry, [call for call in all_calls if call.form == chosen.form])
        if call is None:
            continue
        found = _sets(entry, call, str(dtype).removeprefix("torch."))
        if isinstance(found, str):
            refused = refused or found
        else:
            sets.update(found)
    if not sets:
        return refused or "no set of inputs came of its samples"
    call = chosen.written(template)
    return {"name": entry.name, "title": call, "source": _source(entry.name, call, len(chosen.inputs), sets)}


def _calls(entry: Any, dtype: torch.dtype) -> list[Call]:
    calls = (Call.of(args, kwargs) for args, kwargs in operators.samples(entry, dtype))
    return [call for call in calls if call is not None]


def _largest(entry: Any, calls: list[Call]) -> Call | None:
    """The largest of them that a GPU takes as well, the first of equal ones."""
    by_size = sorted(calls, key=Call.elements, reverse=True)
    return next((call for call in by_size if not operators.keeps_to_the_cpu(lambda: call.of_no_device(entry.op))), None)


def _sets(entry: Any, call: Call, dtype: str) -> dict[str, tuple[Input, ...]] | str:
    """The sets of one dtype by name, or why there is none."""

    def objection(inputs: tuple[Input, ...]) -> str | None:
        result, reason = operators.runs_alike(lambda run: call.run(entry.op, inputs, run))
        return reason or _unusable(result)

    refused = objection(call.inputs)
    if refused is not None:
        return refused
    sets = {f"{dtype} small": call.inputs}
    medium = _grown(entry.name, call.inputs)
    if medium != call.inputs and sum(item.nbytes() for item in medium) <= _MOST_BYTES and objection(medium) is None:
        sets[f"{dtype} medium"] = medium
    largest = sets.get(f"{dtype} medium", call.inputs)
    strided = tuple(item.strided() for item in largest)
    if strided != largest and dtype == "float32" and entry.name not in operators.CONTIGUOUS and objection(strided) is None:
        sets[f"{dtype} strided"] = strided
    if dtype not in ("float32", "int64") and len(sets) > 1:
        # What depends on the size shows with the other dtypes.
        del sets[f"{dtype} small"]
    return sets


def _grown(name: str, inputs: tuple[Input, ...]) -> tuple[Input, ...]:
    """The tensors of a medium set."""
    if not name.startswith("nn.functional.conv"):
        return tuple(item.grown() for item in inputs)
    # The kernel of a convolution stays small.
    x, *others = inputs
    return replace(x, shape=(*x.shape[:2], *(4 * n for n in x.shape[2:])), strides=None), *others


def _unusable(result: Any) -> str | None:
    """Why an operator's result cannot be compared between processes, if so."""
    if isinstance(result, Tensor):
        if result.layout is not torch.strided or result.is_quantized:
            return "its result is no plain strided tensor"
        return "its result is too large" if result.numel() * result.dtype.itemsize > 4 * _MOST_BYTES else None
    if isinstance(result, (tuple, list)):
        return next((reason for item in result if (reason := _unusable(item)) is not None), None)
    return None if result is None or isinstance(result, (bool, int, float, complex, str)) else "its result is no tensor"


def _plain(value: Any, inputs: list[Input]) -> Any:
    """An argument with its tensors taken out; raises `ValueError` for what cannot be written down."""
    if isinstance(value, Tensor):
        if type(value) is not Tensor or value.layout is not torch.strided or value.is_complex():
            raise ValueError
        inputs.append(Input.like(value))
        return _Tensor(len(inputs) - 1)
    if value is None or isinstance(value, (bool, int, str, torch.dtype)) or isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item, inputs) for item in value) if type(value) in (list, tuple) else tuple(_plain(i, inputs) for i in value)
    raise ValueError


def _filled(value: Any, drawn: list[Tensor]) -> Any:
    if isinstance(value, _Tensor):
        return drawn[value.index]
    return type(value)(_filled(item, drawn) for item in value) if isinstance(value, (list, tuple)) else value


def _text(value: Any) -> str:
    if isinstance(value, _Tensor):
        return _NAMES[value.index] if value.index < len(_NAMES) else f"x{value.index}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def _bounds(tensor: Tensor) -> tuple[float, float]:
    """The bounds of a tensor's finite values: inside of them, in three digits where they are floating."""
    if tensor.numel() == 0:
        return 0.0, 1.0
    if not tensor.is_floating_point():
        return float(tensor.min()), float(tensor.max())
    finite = tensor.double()[torch.isfinite(tensor)]
    if finite.numel() == 0:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    inner = _rounded(low, math.ceil), _rounded(high, math.floor)
    return inner if inner[0] < inner[1] else (low, high)


def _rounded(value: float, direction: Any) -> float:
    if value == 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - 2)
    return float(f"{direction(value / unit) * unit:.6g}")


def _number(value: float, dtype: torch.dtype) -> str:
    return repr(value) if dtype.is_floating_point else str(int(value))


_DRAW = '''
def draw(shape, dtype, low, high, strides=None):
    if dtype.is_floating_point:
        values = torch.empty(shape, dtype=torch.float32).uniform_(low, high).to(dtype)
    elif dtype == torch.bool:
        values = torch.rand(shape) < 0.5
    else:
        values = torch.randint(low, high + 1, shape, dtype=dtype)
    return values if strides is None else torch.empty_strided(shape, strides, dtype=dtype).copy_(values)
'''

_scope: dict[str, Any] = {"torch": torch}
exec(_DRAW, _scope)
_draw = _scope["draw"]


def _source(name: str, call: str, tensors: int, sets: dict[str, tuple[Input, ...]]) -> str:
    """The problem file."""
    parameters = ", ".join(_NAMES[:tensors])
    lines = [f'"""`{call}`, on several sets of inputs.', "", f"Made from PyTorch's OpInfo samples for `{name}`, torch {torch.__version__}.", '"""', ""]
    lines += ["import torch", "from torch import nn", "", "", "class Model(nn.Module):", f"    def forward(self, {parameters}):"]
    lines += [f"        return {call}", "", _DRAW, "", "SETS = {"]
    for label, inputs in sets.items():
        lines.append(f'    "{label}": lambda: [{", ".join(item.source() for item in inputs)}],')
    lines += ["}", "SHAPES = list(SETS)", "", "", "def get_inputs(shape):", "    return SETS[shape]()", "", "", "def get_init_inputs():", "    return []", ""]
    return "\n".join(lines)
