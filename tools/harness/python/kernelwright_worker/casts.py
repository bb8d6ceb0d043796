"""Forward passes that cast by themselves, to 16 bits or to float32, computed as if they did not."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

_METHODS = (Tensor.bfloat16, Tensor.half, Tensor.float, Tensor.double)


class Uncast(TorchFunctionMode):
    """Leaves floating tensors in the type that they have where code casts them to another one of two bytes or more: what the casts lose is the error of the
    declared precision, of which a wider run is to be free."""

    def __torch_function__(self, function: Any, _types: Any, arguments: Any = (), named: Any = None) -> Any:
        named = named or {}
        if arguments and isinstance(arguments[0], Tensor) and arguments[0].is_floating_point():
            if function in _METHODS:
                return arguments[0].clone()
            if function in (Tensor.to, Tensor.type):
                kept = [argument for argument in arguments[1:] if not _is_wide(argument)]
                others = {name: value for name, value in named.items() if not _is_wide(value)}
                if len(kept) + len(others) < len(arguments) - 1 + len(named):
                    copy = arguments[0].clone()
                    return function(copy, *kept, **others) if kept or "device" in others else copy
        return function(*arguments, **named)


#: What makes a tensor of a dtype that is named, or of the default one. Without random numbers, of which float64 has others.
_FACTORIES = frozenset((torch.arange, torch.linspace, torch.logspace, torch.tensor, torch.as_tensor, torch.full, torch.zeros, torch.ones, torch.eye))


class Lifted(TorchFunctionMode):
    """Makes in float64 what code makes in float32 by itself, and casts to that instead: positions, angles, tables. Their rounding is the error of the
    declared precision, and a kernel that makes them in another way has another one."""

    def __init__(self) -> None:
        super().__init__()
        #: Whether there was anything of that kind.
        self.has_lifted = False

    def __enter__(self) -> Lifted:
        self._default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        super().__enter__()
        return self

    def __exit__(self, *reason: Any) -> None:
        super().__exit__(*reason)
        torch.set_default_dtype(self._default)

    def __torch_function__(self, function: Any, _types: Any, arguments: Any = (), named: Any = None) -> Any:
        named = named or {}
        if function is Tensor.float:
            self.has_lifted = True
            return arguments[0].to(torch.float64, copy=True)
        if function in (Tensor.to, Tensor.type) or function in _FACTORIES:
            wide = [_widened(argument) for argument in arguments], {name: _widened(value) for name, value in named.items()}
            is_cast = any(new is not old for new, old in zip([*wide[0], *wide[1].values()], [*arguments, *named.values()]))
            result = function(*wide[0], **wide[1])
            made = function in _FACTORIES and isinstance(result, Tensor) and result.dtype == torch.float64
            self.has_lifted = self.has_lifted or is_cast or made
            # A cast that has become none would share memory.
            return result.clone() if is_cast and arguments and result is arguments[0] else result
        return function(*arguments, **named)


def _widened(value: object) -> object:
    return torch.float64 if value is torch.float32 else value


def _is_wide(value: object) -> bool:
    return isinstance(value, torch.dtype) and value.is_floating_point and value.itemsize >= 2
