"""Another state of a module: what training changes and was set by hand when it is built (scales of one, biases of zero, running statistics, closed
gates, identities, weights next to nothing) holds other values, and so do random weights of which one follows from others (copies, orthogonal rows).

A candidate that makes use of such state is right only until somebody trains the module. Both roles compute the same values from a seed: where they were
set by hand they follow from what a tensor holds, its shape and its dtype, not from its name, which a candidate may choose.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate

import torch
from torch import Tensor, nn

from .layout import overlaps, same_bits
from .snapshot import is_strided

#: How far values are from what they were, as a part of it; of a zero, or what is as good as one, itself.
_LEAST, _MOST, _NOTHING = 0.2, 0.5, 0.05
#: Values whose rms is smaller than this are as good as zero; those of the widest layers' usual beginnings are larger.
_TINY = 1e-3
#: Of two values, one is the rule where at least this part of the elements has it: an identity's zeros.
_RULE = 0.7
#: A look at so many elements tells most weights, which are drawn at random.
_FIRST = 64
#: How far random weights go, as a part of how large they are on average: far enough to show, and not so far that a recurrence grows without end.
_SOME = 0.3
#: Of random weights so many elements are moved at most, the smallest tensors first: it takes both sides a second.
_MOVED = 1 << 24
#: So many rows tell whether all of them are orthogonal, by products that are this small beside their squares.
_ROWS, _ORTHOGONAL = 8, 1e-4
#: Shorter rows are equal by chance; so many are compared at once, as those of 16 bits that begin alike are many.
_FEWEST_IN_ROW, _ROWS_AT_ONCE = 4, 1024
#: A number that somebody has written down has few digits; one that was drawn at random has them all.
_WRITTEN_DIGITS = 4
#: Fewer elements than this that were drawn at random may look as if they were set by hand, and a single number always does.
_TOLD_ALONE = 16
_NORMS = torch.nn.modules.batchnorm._NormBase
#: What statistics are called that training gathers, by norms of torch's and others, and what else is learnt: words of a name.
_RUNNING = frozenset({"running", "moving"})
_STATISTICS = _RUNNING | {"mean", "var", "std"}
_LEARNT = frozenset({"bias", "biases", "scale", "scales", "gain", "weight", "weights", "offset", "shift", "gamma", "beta"})


def trained(module: nn.Module) -> set[str]:
    """The names of what training changes: parameters, running statistics, and buffers that are called like parameters or statistics and hold nothing but zeros or
    ones, as a correction does before there was anything to correct. Other buffers are constants, which a kernel may know: masks, tables, and what a recurrence
    begins with."""
    buffers = {name for name, buffer in module.named_buffers() if buffer.numel() > 1 and is_gathered(name) and (_runs(name) or _value(buffer) in (0.0, 1.0))}
    return buffers | {name for name, _parameter in module.named_parameters()}


def has_statistics(module: nn.Module) -> bool:
    """Whether a norm in it takes statistics that training has gathered in the place of those of the batch."""
    return any(isinstance(part, _NORMS) and part.running_mean is not None for part in module.modules())


def set_by_hand(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The floating tensors of a state that hold one finite value each, one but for a few elements, or next to nothing. A few elements may have been drawn at
    random all the same: see `needs_another_draw`."""
    return {name: tensor for name, tensor in state.items() if _mark(tensor) is not None}


def dependent(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a state that follow from others or from parts of themselves, though they were not set by hand: copies, the sizes of another's rows,
    matrices with orthogonal rows or columns, and such of which a row comes twice."""
    alike: dict[tuple[object, ...], list[str]] = {}
    for name, tensor in state.items():
        if tensor.is_floating_point() and tensor.dtype.itemsize >= 2 and tensor.numel() > 1 and is_plain(tensor):
            alike.setdefault((tuple(tensor.shape), tensor.dtype, *tensor.detach().reshape(-1)[:_ROWS].tolist()), []).append(name)
    copies = {name for names in alike.values() if len(names) > 1 and all(same_bits(state[names[0]], state[name]) for name in names) for name in names}
    rows = [tensor.detach() for tensor in state.values() if tensor.is_floating_point() and tensor.dim() > 1 and is_plain(tensor)]
    follows = (_is_orthogonal, _has_equal_rows, lambda tensor: any(_are_sizes(tensor, other) for other in rows))
    found = {
        name: state[name] for names in alike.values() for name in names if name in copies or any(told(state[name].detach()) for told in follows)
    }
    return {name: tensor for name, tensor in found.items() if _mark(tensor) is None and bool(tensor.isfinite().all())}


def variable(module: nn.Module, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What is to hold other values, of the state of a module: only of what training changes, and tensors that are tied to others stay as they are unless
    they were set by hand."""
    names = trained(module)
    own = {name: tensor for name, tensor in state.items() if name in names}
    return {**set_by_hand(own), **_movable(module, dependent(own))}


def learnt(module: nn.Module, state: Mapping[str, Tensor], names: Iterable[str]) -> dict[str, Tensor]:
    """What a step of training is to change, of the state of a module and its parameters of these names: only tensors that are not tied to others."""
    own = {name: state[name] for name in names if name in state}
    return _movable(module, {name: tensor for name, tensor in own.items() if _can_be_learnt(tensor)})


def _can_be_learnt(tensor: Tensor) -> bool:
    """Whether it holds finite floats of two bytes or more, which a step of training changes a little."""
    return tensor.is_floating_point() and tensor.dtype.itemsize >= 2 and tensor.numel() > 0 and is_plain(tensor) and bool(tensor.isfinite().all())


def _movable(module: nn.Module, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Those of a module's tensors that are not tied to others; the smallest ones, of many elements."""
    places = {name: tensor.data_ptr() for name, tensor in module.state_dict().items() if isinstance(tensor, Tensor) and is_strided(tensor)}
    shared = {place for place, times in Counter(places.values()).items() if times > 1}
    found = sorted(((name, tensor) for name, tensor in state.items() if places.get(name) not in shared), key=lambda item: item[1].numel())
    sizes = accumulate(tensor.numel() for _name, tensor in found)
    return {name: tensor for (name, tensor), size in zip(found, sizes) if size <= _MOVED}


def needs_another_draw(tensor: Tensor) -> bool:
    """Whether what looks as if it was set by hand may have been drawn at random: only another draw tells then. Zeros and ones are never drawn."""
    mark = _mark(tensor)
    return mark is not None and tensor.numel() < _TOLD_ALONE and mark not in (-1.0, 0.0, 1.0)


def is_drawn(tensor: Tensor, again: object) -> bool:
    """Whether another draw came to something else; where there is none, that is not known, and it counts as set by hand."""
    return isinstance(again, Tensor) and is_plain(again) and not same_bits(tensor.detach().cpu(), again.detach().cpu())


def varied(state: Mapping[str, Tensor], seed: int) -> dict[str, Tensor]:
    """Other values for the tensors of a state that were set by hand."""
    return other_values(set_by_hand(state), seed)


def other_values(state: Mapping[str, Tensor], seed: int) -> dict[str, Tensor]:
    """Other values for all of these. Those of equal tensors that were set by hand are equal; of tensors that were drawn at random each has its own.

    Under an even seed half of a scale's elements are negative, as training may leave them; what is equal to a norm's statistics, which no variance can be
    told from, keeps its sign.
    """
    statistics = {key_of(tensor) for name, tensor in state.items() if is_statistic(name)}

    def other(name: str, tensor: Tensor) -> Tensor:
        if _mark(tensor) is None:
            return _moved(tensor, seed ^ zlib.crc32(name.encode()))
        return _other(tensor, seed, turns=seed % 2 == 0 and key_of(tensor) not in statistics)

    return {name: other(name, tensor) for name, tensor in state.items()}


def is_plain(tensor: Tensor) -> bool:
    """Whether its values can be read and written like those of any tensor."""
    is_free = torch.is_inference_mode_enabled() or not tensor.is_inference()
    return type(tensor) in (Tensor, nn.Parameter) and is_strided(tensor) and is_free and not overlaps(tensor)


def is_statistic(name: str) -> bool:
    """Whether a buffer of this name holds statistics of inputs, of which some cannot be negative."""
    return not _STATISTICS.isdisjoint(leaf_of(name).split("_"))


def _runs(name: str) -> bool:
    return not _RUNNING.isdisjoint(leaf_of(name).split("_"))


def is_gathered(name: str) -> bool:
    """Whether a buffer of this name holds what training gathers or learns."""
    return is_statistic(name) or not _LEARNT.isdisjoint(leaf_of(name).split("_"))


def leaf_of(name: str) -> str:
    return name.rpartition(".")[2]


def _value(tensor: Tensor) -> float | None:
    """What every element of a floating tensor is; nothing where they differ, or that is not finite."""
    if not tensor.is_floating_point() or tensor.dtype.itemsize < 2 or not tensor.numel() or not is_plain(tensor):
        return None
    flat = tensor.detach().reshape(-1)
    first = float(flat[0])
    if first - first != 0.0:
        return None
    # Weights, which are most of a state, are told by their first elements.
    return first if all(bool((part == flat[0]).all()) for part in (flat[:64], flat)) else None


def _is_written(value: float, dtype: torch.dtype) -> bool:
    if dtype.itemsize == 2:
        # Every such float is a short number.
        return value in (-1.0, 0.0, 1.0)
    return any(float(torch.tensor(float(f"{value:.{digits}g}"), dtype=dtype)) == value for digits in range(1, _WRITTEN_DIGITS + 1))


def _mark(tensor: Tensor) -> float | tuple[str, int] | None:
    """What is told of a tensor that was set by hand: its value, or that it is next to nothing or an identity, and of which bits; nothing of others."""
    value = _value(tensor)
    if value is not None or not tensor.is_floating_point() or tensor.dtype.itemsize < 2 or not tensor.numel() or not is_plain(tensor):
        return value
    flat = tensor.detach().reshape(-1)
    first = flat[:_FIRST].cpu()
    kind = next((name for name, holds in (("tiny", _is_tiny), ("two", _has_a_rule)) if holds(first) and holds(flat)), None)
    return kind and (kind, _bits(flat))


def _bits(flat: Tensor) -> int:
    return zlib.crc32(flat.detach().contiguous().view(torch.uint8).cpu().numpy().tobytes())


def _is_orthogonal(tensor: Tensor) -> bool:
    """Whether the rows of a matrix, or the columns of one that is higher than wide, are orthogonal and of one length."""
    if tensor.dim() != 2 or min(tensor.shape) < _ROWS:
        return False
    rows = tensor if tensor.shape[0] <= tensor.shape[1] else tensor.T
    first = rows[:_ROWS].double()
    # Of most matrices the first rows are enough.
    for some in (first, rows):
        products = first @ some.double().T
        expected = torch.eye(*products.shape, dtype=products.dtype, device=products.device) * products[0, 0]
        if not bool((products - expected).abs().max() <= _ORTHOGONAL * products[0, 0]):
            return False
    return bool(products[0, 0] > 0)


def _has_equal_rows(tensor: Tensor) -> bool:
    """Whether some row is another one: what is made once and repeated. Of rows drawn at random none is."""
    if tensor.dim() < 2 or tensor.shape[0] < 2 or tensor[0].numel() < _FEWEST_IN_ROW:
        return False
    rows = tensor.reshape(tensor.shape[0], -1)
    order = rows[:, 0].argsort()
    near = (rows[order[1:], 0] == rows[order[:-1], 0]).nonzero().reshape(-1)
    return any(bool((rows[order[some + 1]] == rows[order[some]]).all(1).any()) for some in near.split(_ROWS_AT_ONCE))


def _are_sizes(tensor: Tensor, rows: Tensor) -> bool:
    """Whether a tensor has the size of each of another's rows, as a weight's magnitude has when it is kept apart from its direction."""
    if tensor.numel() != rows.shape[0] or tensor.device != rows.device:
        return False
    sizes, count = tensor.reshape(-1).double(), rows.shape[0]
    pairs = ((sizes[:some], rows[:some].reshape(some, -1).double().norm(dim=1)) for some in (1, count))
    return all(bool(torch.allclose(own, other, rtol=1e-5, atol=0.0)) for own, other in pairs)


def _is_tiny(flat: Tensor) -> bool:
    return bool(flat.double().square().mean().sqrt() < _TINY)


def _has_a_rule(flat: Tensor) -> bool:
    """Whether there are two finite values that somebody has written down, at most, and one of them is the rule."""
    # Not every version of torch sorts floats of 16 bits on a GPU.
    values, counts = flat.double().unique(return_counts=True)
    is_few = values.numel() <= 2 and bool(values.isfinite().all())
    return is_few and int(counts.max()) >= _RULE * flat.numel() and all(_is_written(float(value), flat.dtype) for value in values)


def key_of(tensor: Tensor, is_drawn: bool = False) -> tuple[object, ...]:
    """What tells it from other tensors, whatever it is called; of one that `is_drawn` at random its bits."""
    mark = _mark(tensor)
    return ("drawn", _bits(tensor.reshape(-1))) if mark is None and is_drawn else mark, *form_of(tensor)


def form_of(tensor: Tensor) -> tuple[object, ...]:
    """Its shape and dtype."""
    return tuple(tensor.shape), str(tensor.dtype)


def _change(tensor: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """By how much elements are to change: the size of that, and with a sign."""
    # On the CPU: a GPU draws other numbers.
    generator = torch.Generator().manual_seed(seed)
    size = _LEAST + (_MOST - _LEAST) * torch.rand(tensor.shape, generator=generator)
    return size, size * (torch.randint(0, 2, tensor.shape, generator=generator) * 2 - 1)


def _moved(tensor: Tensor, seed: int) -> Tensor:
    values = tensor.detach().cpu().double()
    _size, change = _change(tensor, seed)
    return (values + _SOME * values.square().mean().sqrt() * change).to(tensor.dtype).to(tensor.device)


def _other(tensor: Tensor, seed: int, turns: bool) -> Tensor:
    own = zlib.crc32(repr(key_of(tensor)).encode()) ^ seed
    size, change = _change(tensor, own)
    value = _value(tensor)
    if value is not None:
        other = (1 + change) * value if abs(value) >= _NOTHING else math.copysign(1.0, value) * size if value else change
        if turns:
            _size, sign = _change(tensor, own + 1)
            other = other.copysign(sign)
    else:
        values = tensor.detach().cpu().to(change.dtype)
        other = torch.where(values.abs() < _NOTHING, change, (1 + change) * values)
    return other.to(tensor.dtype).to(tensor.device)
