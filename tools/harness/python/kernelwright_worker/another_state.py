"""Another state of a module: what is one value when it is built (scales of one, biases of zero, running statistics, closed gates) holds others.

A candidate that leaves such state out is right only until somebody trains the module. Both roles compute the same values from a seed: they follow
from what a tensor holds, its shape and its dtype, not from its name, which a candidate may choose.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as registration

#: How far values are from what they were, as a part of it; of a zero itself. Positive ones stay positive.
_LEAST, _MOST = 0.2, 0.5
#: Functions of `torch.nn.init` that fill a tensor with one value.
_FILLING = ("zeros_", "ones_", "constant_")


def of_one_value(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The floating tensors of a state that hold one finite value each."""
    return {name: tensor for name, tensor in state.items() if _value(tensor) is not None}


def varied(state: Mapping[str, Tensor], seed: int) -> dict[str, Tensor]:
    """Other values for the tensors of a state that hold one value each; those of equal tensors are equal."""
    return {name: _other(tensor, seed) for name, tensor in of_one_value(state).items()}


@contextmanager
def built_with(state: Mapping[str, Tensor], seed: int) -> Iterator[None]:
    """Has modules that are built meanwhile hold the other values from the beginning, wherever they hold what tensors of `state` do.

    So a candidate that packs or folds its state while it is built, under whatever names, is asked for nothing that it cannot do.
    """
    others = {_key(state[name]): other for name, other in varied(state, seed).items()}

    def replace(tensor: object) -> None:
        if isinstance(tensor, Tensor) and not isinstance(tensor, nn.parameter.UninitializedTensorMixin):
            other = others.get(_key(tensor))
            if other is not None:
                with torch.no_grad():
                    tensor.copy_(other)

    def registered(_parent: nn.Module, _name: str, child: Any) -> None:
        for tensor in child.state_dict(keep_vars=True).values() if isinstance(child, nn.Module) else (child,):
            replace(tensor)

    def filled(fill: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(fill)
        def wrapper(tensor: Any, *arguments: Any, **named: Any) -> Any:
            result = fill(tensor, *arguments, **named)
            replace(tensor)
            return result

        return wrapper

    def reset(fill: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(fill)
        def wrapper(norm: Any) -> Any:
            result = fill(norm)
            replace(norm.running_mean)
            replace(norm.running_var)
            return result

        return wrapper

    with ExitStack() as stack:
        for register in (
            registration.register_module_parameter_registration_hook,
            registration.register_module_buffer_registration_hook,
            registration.register_module_module_registration_hook,
        ):
            stack.callback(register(registered).remove)
        norms = torch.nn.modules.batchnorm._NormBase
        for owner, name, wrap in [*((nn.init, name, filled) for name in _FILLING), (norms, "reset_running_stats", reset)]:
            original = getattr(owner, name)
            setattr(owner, name, wrap(original))
            stack.callback(setattr, owner, name, original)
        yield


def _value(tensor: Tensor) -> float | None:
    """What every element of a floating tensor is; nothing where they differ, or where that is not finite."""
    if not tensor.is_floating_point() or tensor.dtype.itemsize < 2 or not tensor.numel():
        return None
    flat = tensor.detach().reshape(-1)
    first = float(flat[0])
    # Weights, which are most of a state, are told by their first elements.
    is_one = first - first == 0.0 and all(bool((part == flat[0]).all()) for part in (flat[:64], flat))
    return first if is_one else None


def _key(tensor: Tensor) -> tuple[object, ...]:
    return _value(tensor), tuple(tensor.shape), str(tensor.dtype)


def _other(tensor: Tensor, seed: int) -> Tensor:
    value = _value(tensor)
    # On the CPU: a GPU draws other numbers.
    generator = torch.Generator().manual_seed(zlib.crc32(repr(_key(tensor)).encode()) ^ seed)
    change = _LEAST + (_MOST - _LEAST) * torch.rand(tensor.shape, generator=generator)
    change *= torch.randint(0, 2, tensor.shape, generator=generator) * 2 - 1
    return ((1 + change) * value if value else change).to(tensor.dtype).to(tensor.device)
