"""Forward passes that cast to 16 bits by themselves, computed as if they did not."""

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


def _is_wide(value: object) -> bool:
    return isinstance(value, torch.dtype) and value.is_floating_point and value.itemsize >= 2
