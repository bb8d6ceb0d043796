"""PyTorch's OpInfo database: every operator with sample inputs, and which of them make a problem.

The database is part of PyTorch's own tests (`torch.testing._internal`), so its content follows the installed version of torch.
"""

from __future__ import annotations

import random
import sys
import types
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

#: Operators that make no problem, with the reason. What shows by itself (see `aten.py`) is not listed.
EXCLUDED = {
    **dict.fromkeys(
        ["empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_"],
        "its output is memory that nobody has written",
    ),
    **dict.fromkeys(
        ["arange", "linspace", "logspace", "eye", "full", "ones", "zeros", "scalar_tensor", "tril_indices", "triu_indices"],
        "it takes no tensor",
    ),
    **dict.fromkeys(["svd_lowrank", "pca_lowrank", "nn.functional.rrelu"], "it draws random numbers"),
    **dict.fromkeys(["to_sparse", "sparse.sampled_addmm", "sparse.mm"], "it works on sparse layouts"),
    **dict.fromkeys(
        ["svd", "linalg.svd", "linalg.eig", "linalg.eigvals", "linalg.eigh", "geqrf", "linalg.qr", "linalg.polar"],
        "its result is fixed up to signs, phases or an order only, which rounding decides",
    ),
    **dict.fromkeys(
        [
            *("index_put", "index_copy", "put", "scatter", "_unsafe_masked_index_put_accumulate"),
            *(f"nn.functional.max_unpool{dimensions}d" for dimensions in (1, 2, 3)),
        ],
        "which of several writes to one element wins is left open",
    ),
    **dict.fromkeys(["mode"], "which of several equal elements it names is left open"),
    "broadcast_shapes": "it takes shapes, not tensors",
    "histc": "an element on the border of two bins falls into either, by rounding",
    "histogram": "an element on the border of two bins falls into either, by rounding",
    "item": "it takes one element",
    "_segment_reduce": "it leaves part of its output unwritten",
    "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu": "it exists for CPUs alone",
    "hash_tensor": "it gives bits of the memory, not values",
    "nn.functional.fractional_max_pool2d": "it draws random numbers",
    "nn.functional.fractional_max_pool3d": "it draws random numbers",
}

#: Operators that take contiguous memory alone on a GPU.
CONTIGUOUS = {"nn.functional.channel_shuffle"}

#: Operators that the database calls through a function of its own: how a program calls them. `{0}` is the first argument as the database has
#: it, `{all}` all of them in their order, `{named}` those that are given by name, with a comma in front.
CALLS = {
    "einsum": "torch.einsum({1}, {0})",
    "expand": "{0}.expand({1})",
    "nn.functional.embedding": "torch.nn.functional.embedding({1}, {0}{named})",
    "nn.functional.scaled_dot_product_attention": "torch.nn.functional.scaled_dot_product_attention({all}{named})",
    "repeat": "{0}.repeat({1})",
    "reshape_as": "{0}.reshape_as({1})",
    "unfold": "{0}.unfold({1}, {2}, {3})",
    "view": "{0}.view({1})",
    "where": "torch.where({1}, {0}, {2}{named})",
}


def database() -> list[Any]:
    """The entries of the database."""
    if "expecttest" not in sys.modules:
        try:
            import expecttest  # noqa: F401
        except ImportError:
            # PyTorch's test utilities import it for their own tests' sake.
            stand_in = types.ModuleType("expecttest")
            stand_in.TestCase = unittest.TestCase  # type: ignore[attr-defined]
            sys.modules["expecttest"] = stand_in
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


def call(entry: Any) -> str | None:
    """How a program calls the operator (see `CALLS`); None where there is no public name for exactly this function."""
    if entry.name in CALLS:
        return CALLS[entry.name]
    public = entry.name.removeprefix("torch.")
    for name in (f"torch.{public}", f"torch.Tensor.{public}"):
        found: Any = torch
        for part in name.split(".")[1:]:
            found = getattr(found, part, None)
        if found is not None and found is entry.op:
            return name + "({all}{named})"
    return None


def samples(entry: Any, dtype: torch.dtype) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Arguments of calls; nothing where the operator has none for the dtype. The same every time."""
    seed()
    try:
        for sample in entry.sample_inputs("cpu", dtype, requires_grad=False):
            yield (sample.input, *sample.args), dict(sample.kwargs)
    except Exception:  # what an entry raises for a dtype it does not know is its own affair
        return


def keeps_to_the_cpu(call: Callable[[], Any]) -> bool:
    """Whether a call on tensors of no device asks for one of them to be on the CPU."""
    try:
        call()
    except Exception as error:  # many an operator has no such form, or looks at values
        return "to be on cpu" in str(error)
    return False


@contextmanager
def seeds_of_the_cpu_alone() -> Iterator[None]:
    """Meanwhile `torch.manual_seed` seeds what draws on the CPU, where all is drawn here. For each kind of device that is not there it would take down a stack
    trace, before each of the database's thousands of samples."""
    everywhere = torch.manual_seed
    torch.manual_seed = torch.default_generator.manual_seed
    try:
        yield
    finally:
        torch.manual_seed = everywhere


def seed() -> None:
    """Seeds every generator that the database uses."""
    torch.manual_seed(0)
    random.seed(0)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(0)


def dtypes(entry: Any) -> set[torch.dtype]:
    """The dtypes that the operator takes on the CPU and on a GPU alike."""
    on_gpu = getattr(entry, "dtypesIfCUDA", None) or set()
    return set(entry.dtypes) & set(on_gpu)


#: By how many units in the last place of its largest value a result may differ from one run to the next.
_ROUNDING = 64


def runs_alike(call: Callable[[int], Any]) -> tuple[Any, str | None]:
    """What a call gives, and why it is of no use here. It is called with the number of the run."""
    results = []
    for run in range(2):
        try:
            with torch.no_grad():
                results.append(call(run))
        except Exception as error:  # an operator may refuse in any way
            return None, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return results[0], None if _same(*results) else "two runs on equal inputs differ"


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        if not isinstance(b, torch.Tensor) or a.dtype != b.dtype or a.shape != b.shape or a.layout is not torch.strided or b.layout is not torch.strided:
            return a.layout is not torch.strided
        a, b = (torch.view_as_real(t.resolve_conj()) if t.is_complex() else t for t in (a, b))
        alike = (a == b) | ((a != a) & (b != b))
        if a.is_floating_point() and not alike.all():
            # Libraries sum in another order where memory is aligned differently.
            finite = a[torch.isfinite(a)]
            alike |= (a - b).abs() <= _ROUNDING * torch.finfo(a.dtype).eps * finite.abs().max() if finite.numel() else alike
        return bool(alike.all())
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(_same, a, b))
    return a == b or a != a
