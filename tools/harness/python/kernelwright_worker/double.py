"""Runs of a reference in float64: what its results would be without rounding, where it has such a form and that is to be believed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from functools import partial
from time import perf_counter_ns
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from .casts import Lifted, Uncast
from .channel import WorkerError
from .compare import compare
from .device import Device
from .draws import transform
from .expected import Expected
from .failures import lost_the_device
from .outputs import distances, leaves
from .tolerance import Distance, chunks
from .trees import map_tensors, tensors_of

#: A float64 run longer than this is made once per problem only.
SLOW_DOUBLE_NS = 1_000_000_000

#: From this error over tolerance on it matters that a float64 run makes its tables in float32.
_TABLES_MATTER = 0.1
#: Ways in which last digits of inputs are changed that show whether a reference is mostly noise: of what is added to something large, one alone may
#: change too little.
_NOISE_NUDGES = 4


class Gap(Enum):
    """What lies between the reference at declared precision and its float64 run."""

    ROUNDING = "rounding"
    #: As much as the last digits of the inputs make.
    NOISE = "noise"
    ANOTHER = "another function"


class NoDouble(Exception):
    """The reference has no float64 form; the message says why."""


class Runs(Protocol):
    """What float64 runs need of a reference."""

    @property
    def is_stateful(self) -> bool:
        """Whether calls change the module, so that every one needs a copy of its own."""

    def copied(self) -> nn.Module:
        """The module once more, as it is before a call."""

    def results(self, inputs: list[Any]) -> Any:
        """What a call gives at declared precision, and what it writes into its inputs."""

    def of_written(self, after: list[Any]) -> list[Any]:
        """Those inputs after a call that calls write into."""

    def initial_state(self) -> dict[str, Tensor]:
        """Parameters and buffers by name, as they are before the first call."""


class DoubleRuns:
    """Float64 runs of one reference on inputs of one form."""

    def __init__(self, runs: Runs, device: Device) -> None:
        self._runs = runs
        self._device = device
        self._module: nn.Module | None = None
        self._lasted_ns: int | None = None
        self._reason: str | None = None
        #: What is done about what the module makes or casts by itself, and whether it is known that tables need not be lifted, or are.
        self._way: Callable[[], AbstractContextManager[Any]] = nullcontext
        self._knows_tables = False

    def renew_module(self) -> None:
        """Forgets the module in float64: the reference holds other values."""
        self._module = None

    def aligned(self, baseline: Any, inputs: list[Any]) -> Any:
        """What a float64 run gives, in the form of the baseline's; raises `NoDouble`, from then on for good, where there is none.

        The first one decides whether tables are lifted: where they round by more than matters, and the rest of the module is what it was.
        """
        if self._reason is not None:
            raise NoDouble(self._reason)
        try:
            return self._aligned(baseline, inputs)
        except NoDouble as error:
            self._reason = str(error)
            raise

    def _aligned(self, baseline: Any, inputs: list[Any]) -> Any:
        precise = _align(baseline, self._run(inputs))
        if self._knows_tables or self._way is not nullcontext:
            return precise
        self._knows_tables = True
        lifted = self._run_lifted(inputs)
        if lifted is None:
            return precise
        try:
            lifted = _align(baseline, lifted)
        except NoDouble:
            return precise
        matters = compare(Expected(precise, precise, precision=self._device.precision), lifted, "output").worst >= _TABLES_MATTER
        apart = distances(precise, lifted)
        dtypes = [leaf.dtype for leaf in leaves(baseline)]
        same = len(apart) == len(dtypes) and all(
            not one.is_far(dtype) if dtype.is_floating_point or dtype.is_complex else one.typical == 0 for one, dtype in zip(apart, dtypes)
        )
        if not (matters and same):
            return precise
        self._way = Lifted
        return lifted

    def gap(self, inputs: list[Any], baseline: Any, precise: Any, apart: list[Distance]) -> Gap:
        """Whether a float64 run is to be believed: what it has to say is how much rounding does, and zeros would pass for a rounding error of one that
        draws other random numbers."""
        if not any(distance.is_doubtful for distance in apart):
            return Gap.ROUNDING
        # The first way moves inputs by less than a product of TF32 is off.
        for seed in range(1, 1 + _NOISE_NUDGES):
            try:
                moved = distances(baseline, self._runs.results(transform(inputs, "nudged", self._device.torch, seed)[0]))
            except WorkerError as error:
                if lost_the_device(error):
                    raise
                break
            if len(moved) == len(apart) and all(one.is_noise(other) for one, other in zip(apart, moved) if one.is_doubtful):
                return Gap.NOISE
        dtypes = [leaf.dtype for leaf in leaves(baseline)]
        if any(one.is_doubtful and one.is_far(dtype) for one, dtype in zip(apart, dtypes)) and not self._is_right_in_float32(inputs, baseline, precise):
            return Gap.ANOTHER
        return Gap.ROUNDING

    def _is_right_in_float32(self, inputs: list[Any], baseline: Any, precise: Any) -> bool:
        """Whether the reference gives the same in float32 as in float64, though not at its declared precision: 16 bits underflow, and what is added to
        a large sum is lost in them."""
        tensors = [*tensors_of(inputs), *self._runs.initial_state().values()]
        if not any(tensor.is_floating_point() and tensor.dtype.itemsize <= 2 for tensor in tensors):
            return False
        try:
            single = _align(baseline, self._run_wide(self._runs.copied().float(), inputs, torch.float32))
        except Exception:  # whatever the reason, there is one run less to go by
            return False
        return not any(distance.is_far(torch.float32) for distance in distances(precise, single))

    def _run(self, inputs: list[Any]) -> Any:
        if self._lasted_ns is not None and self._lasted_ns > SLOW_DOUBLE_NS:
            raise NoDouble("it takes too long")
        start = perf_counter_ns()
        try:
            if self._module is None or self._runs.is_stateful:
                self._module = self._runs.copied().double()
            results = self._run_casting(inputs)
        except Exception as error:  # hard-coded dtypes, hooks, memory: whatever the reason, the baseline itself is the fallback
            self._module = None
            if self._device.is_cuda:
                torch.cuda.empty_cache()
            raise NoDouble(f"it does not run in float64: {type(error).__name__}") from error
        self._lasted_ns = perf_counter_ns() - start
        return results

    def _run_casting(self, inputs: list[Any]) -> Any:
        """A float64 run of a forward pass that may make or cast tensors by itself, which do not always fit the others then."""
        failures = []
        for way in dict.fromkeys((self._way, nullcontext, Lifted, Uncast)):
            if self._module is None:
                self._module = self._runs.copied().double()
            try:
                results = self._run_wide(self._module, inputs, torch.float64, way())
            except Exception as error:
                failures.append(error)
                self._module = None
            else:
                self._way = way
                return results
        raise failures[0]

    def _run_lifted(self, inputs: list[Any]) -> Any:
        """A float64 run with all that is made on the way in float64 as well; nothing where there is no such thing, or that does not run."""
        if self._lasted_ns is None or self._lasted_ns > SLOW_DOUBLE_NS:
            return None
        casts = Lifted()
        try:
            results = self._run_wide(self._runs.copied().double(), inputs, torch.float64, casts)
        except Exception:  # dtypes that do not fit, memory: whatever the reason, there is the other run
            if self._device.is_cuda:
                torch.cuda.empty_cache()
            return None
        return results if casts.has_lifted else None

    def _run_wide(self, module: nn.Module, inputs: list[Any], dtype: torch.dtype, casts: AbstractContextManager[Any] | None = None) -> Any:
        wide = map_tensors(inputs, partial(_upcast, dtype=dtype))
        with torch.no_grad(), casts or nullcontext():
            results = [module(*wide), self._runs.of_written(wide)]
        self._device.synchronize()
        tensors_of(results)
        return results


def _upcast(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    # Cloned where nothing is cast, because the call may write into it.
    if tensor.is_floating_point():
        return tensor.to(dtype, copy=True)
    return tensor.to(dtype.to_complex(), copy=True) if tensor.is_complex() else tensor.clone()


def _align(baseline: Any, precise: Any) -> Any:
    """The float64 value in the form of the baseline's: floating tensors and floats from it, everything else from the baseline."""
    if isinstance(baseline, Tensor):
        if not isinstance(precise, Tensor) or precise.shape != baseline.shape:
            raise NoDouble("its results have another form in float64")
        if not (baseline.is_floating_point() or baseline.is_complex()):
            return precise.detach().to(baseline.device) if precise.dtype == baseline.dtype else baseline
        if baseline.is_complex() != precise.is_complex() or not (precise.is_floating_point() or precise.is_complex()):
            raise NoDouble("its results have another type in float64")
        return _narrow(precise.detach().to(baseline.device), baseline.dtype)
    if isinstance(baseline, (list, tuple)):
        if not isinstance(precise, (list, tuple)) or len(precise) != len(baseline):
            raise NoDouble("its results have another form in float64")
        return type(baseline)(_align(b, e) for b, e in zip(baseline, precise))
    if isinstance(baseline, Mapping):
        if not isinstance(precise, Mapping) or precise.keys() != baseline.keys():
            raise NoDouble("its results have another form in float64")
        return {key: _align(baseline[key], precise[key]) for key in baseline}
    return precise if isinstance(baseline, (float, complex)) and type(precise) is type(baseline) else baseline


def _narrow(precise: Tensor, dtype: torch.dtype) -> Tensor:
    """float32 holds the expectation of every dtype but float64: its rounding is far below any tolerance, and it takes half the memory."""
    if dtype in (torch.float64, torch.complex128) or precise.is_complex():
        return precise
    if precise.dtype is not torch.float64:
        # A reference may round its results itself.
        return precise.to(torch.float32)
    limit = torch.finfo(torch.float32).max
    narrow = torch.empty(precise.shape, dtype=torch.float32, device=precise.device)
    # In pieces: what lies in between would take five times the memory of the result.
    for start, (piece,) in chunks(precise):
        narrow.view(-1)[start : start + piece.numel()] = torch.where(torch.isfinite(piece), piece.clamp(-limit, limit), piece)
    return narrow
