"""What the reference gives: at declared precision and, where it can be computed, in float64."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import Enum
from functools import partial
from time import perf_counter_ns
from typing import Any

import torch
from torch import Tensor, nn

from . import another_state
from .another_state import Snapshot
from .casts import Lifted, Uncast
from .channel import WorkerError
from .compare import Expected, Extent, NanRule, compare
from .device import Device
from .draws import transform
from .layout import admit_plain, fresh_copy, same_bits
from .problem import Problem
from .tolerance import Distance, chunks, real_parts
from .trees import Untransportable, encode, map_tensors, tensors_of

#: A float64 run longer than this is made once per problem only.
SLOW_DOUBLE_NS = 1_000_000_000
#: A first run longer than this is not repeated to find out whether the reference is deterministic.
SLOW_FIRST_RUN_NS = 2_000_000_000

#: Runs that have to agree with the one before them.
_REPEATS = 2
#: What takes the place of a NaN, in turns: what is chosen beside one of them may by chance be what is chosen beside a NaN. Far larger ones would saturate.
_FINITE = (0.0, 8.0)
#: The error over tolerance from which on two outputs are far apart: a sample that has its share of the large elements still misses what they add up to.
_FAR = 16.0
#: From this error over tolerance on it matters that a float64 run makes its tables in float32.
_TABLES_MATTER = 0.1
#: Ways in which last digits of inputs are changed; two values that are nearly tied come in either order in some of them.
_NUDGES = 12
#: Of these so many show whether a reference is mostly noise: of what is added to something large, one alone may change too little.
_NOISE_NUDGES = 4


class _Gap(Enum):
    """What lies between the reference at declared precision and its float64 run."""

    ROUNDING = "rounding"
    #: As much as the last digits of the inputs make.
    NOISE = "noise"
    ANOTHER = "another function"


class _NoDouble(Exception):
    """The reference has no float64 form; the message says why."""


@dataclass
class Expectation:
    """What one call should give and what it does to its inputs."""

    outputs: Expected
    #: The inputs after the call; None where the call leaves them alone.
    after: list[Any] | None
    #: Whether the expected values are float64.
    double: bool
    #: Whether it gives other integers in float64, more than a few: ties that are none there.
    integers_differ: bool = False


class Reference:
    """The problem's module with its initial state, and runs of it that do not disturb each other."""

    def __init__(self, problem: Problem, init: list[Any], seed: int, device: Device) -> None:
        self._problem = problem
        self._device = device
        self.module = problem.build(init, seed, device)
        self._initial = self._state()
        #: What a module with state of its own is put back to before every run; of others nothing, since weights take memory.
        self._snapshot = Snapshot([])
        #: The module's own values of what holds others for the time being.
        self._replaced: dict[str, Tensor] = {}
        self._stateful = False
        #: Whether a call's outputs depend on the calls before it: every call that is compared begins with the initial state.
        self.carries_state = False
        #: Whether outputs lie in the memory of inputs.
        self.returns_inputs = False
        self._double: nn.Module | None = None
        self._double_ns: int | None = None
        self._no_double: str | None = None
        #: What float64 runs do about what the module makes or casts by itself, and whether it is known that tables need not be lifted, or are.
        self._way: Callable[[], AbstractContextManager[Any]] = nullcontext
        self._knows_tables = False

    def _state(self) -> dict[str, Tensor]:
        uninitialised = nn.parameter.UninitializedTensorMixin
        tensors = {name: t for name, t in self.module.state_dict().items() if isinstance(t, Tensor) and not isinstance(t, uninitialised)}
        try:
            return {name: fresh_copy(admit_plain(tensor), self._device.torch) for name, tensor in tensors.items()}
        except Untransportable as error:
            raise WorkerError("unsupported", "state", f"the module's state holds {error}") from error

    def first_run(self, inputs: list[Any], others: Callable[[], list[list[Any]]] = list) -> tuple[Any, int]:
        """Runs the module once, with what only a first run shows: lazy parameters, whether calls change the module's own state, and whether that shows
        in the outputs of later calls, which may have the `others` for inputs."""
        is_lazy = any(isinstance(tensor, nn.parameter.UninitializedTensorMixin) for tensor in [*self.module.parameters(), *self.module.buffers()])
        if not self._stateful:
            self._snapshot = Snapshot.of(self.module)
        outputs, after, nanoseconds = self.run(inputs)
        given = {tensor.untyped_storage().data_ptr() for tensor in tensors_of(after)}
        self.returns_inputs = any(tensor.untyped_storage().data_ptr() in given for tensor in tensors_of(outputs) if tensor.numel())
        if is_lazy:
            self._initial, self._snapshot = self._state(), Snapshot.of(self.module)
        self._stateful = self._snapshot.is_changed()
        if not self._stateful:
            self._snapshot = Snapshot([])
        self.carries_state = self._stateful and any(map(self._goes_on, others()))
        return outputs, nanoseconds

    def _goes_on(self, inputs: list[Any]) -> bool:
        """Whether a call gives other outputs, or none, where it finds the state of the one before."""
        smaller = transform(inputs, "small", self._device.torch)[0]
        try:
            for last, before in ((inputs, inputs), (inputs, smaller), (smaller, inputs)):
                alone, again, after = self._last_of(last), self._last_of(last), self._last_of(before, last)
                repeats = _same(alone, again)
                if not (_same(alone, after) if repeats else agree(alone, after)):
                    return True
            return False
        except WorkerError as error:
            if "CUDA error" in error.message:
                raise
            return True

    def _last_of(self, *calls: list[Any]) -> Any:
        """What the last of several calls gives, of which the first finds the initial state."""
        self._snapshot.restore()
        return [self._plain(self._problem.run(self.module, self.copies(inputs))) for inputs in calls][-1]

    def renew(self) -> None:
        """Forgets what is known of runs: the next inputs may be of other dtypes and sizes."""
        self._double, self._double_ns, self._no_double = None, None, None
        self._way, self._knows_tables = nullcontext, False

    def initial_state(self) -> dict[str, Tensor]:
        """Parameters and buffers by name, as they are before the first call."""
        return {**self._initial, **self._replaced}

    def trained_state(self) -> dict[str, Tensor]:
        """What of it training changes."""
        names = another_state.trained(self._problem.inner(self.module))
        return {name: tensor for name, tensor in self.initial_state().items() if name in names}

    def replace_state(self, others: dict[str, Tensor]) -> None:
        """Holds these values in the place of its own, and its own again in the place of those that were replaced before."""
        own = self.initial_state()
        if self._stateful:
            self._snapshot.restore()
        self.module.load_state_dict({**self._replaced, **others}, strict=False)
        self._initial = {**own, **others}
        self._replaced = {name: own[name] for name in others}
        if self._stateful:
            self._snapshot = Snapshot.of(self.module)
        self._double = None

    def run(self, inputs: list[Any]) -> tuple[Any, list[Any], int]:
        """Outputs, the inputs after the call, and its time. The inputs given are left alone."""
        own = self.copies(inputs)
        if self._stateful:
            self._snapshot.restore()
        self._device.synchronize()
        start = perf_counter_ns()
        outputs = self._problem.run(self.module, own)
        self._device.synchronize()
        nanoseconds = perf_counter_ns() - start
        return self._plain(outputs), own, nanoseconds

    def _plain(self, outputs: Any) -> Any:
        """Outputs as plain tensors, in memory that later calls do not write: a module may return its own buffers."""
        tensors: list[Tensor] = []
        try:
            encode(outputs, tensors, admit_plain)
        except Untransportable as error:
            raise WorkerError("unsupported", "run", f"the reference returns {error}") from error
        own = {tensor.untyped_storage().data_ptr() for tensor in [*self.module.parameters(), *self.module.buffers()] if tensor.layout is torch.strided}
        kept = [fresh_copy(new, new.device) if new.untyped_storage().data_ptr() in own else new for new in tensors]
        plain = {id(old): new for old, new in zip(tensors_of(outputs), kept)}
        return map_tensors(outputs, lambda tensor: plain[id(tensor)])

    def repeats(self, inputs: list[Any], outputs: Any) -> bool:
        """Whether it gives these outputs again, within what a candidate may be off."""
        expected = Expected(outputs, outputs, extent=Extent.FIRST_MISMATCH, precision=self._device.precision)
        return not any(compare(expected, self.run(inputs)[0], "output").mismatches for _ in range(_REPEATS))

    def in_training_gives(self, inputs: list[Any], outputs: Any) -> bool:
        """Whether the module gives these outputs in training mode, where that shows: norms take the batch's own statistics."""
        if not another_state.has_statistics(self._problem.inner(self.module)):
            return False
        try:
            with torch.random.fork_rng(devices=[self._device.torch] if self._device.is_cuda else []):
                trained = self._plain(self._problem.run(self._copied().train(), self.copies(inputs)))
        except (WorkerError, torch.OutOfMemoryError):
            return False
        expected = Expected(trained, trained, extent=Extent.FIRST_MISMATCH, precision=self._device.precision)
        return not compare(expected, outputs, "output").mismatches

    def are_far(self, first: Any, second: Any) -> bool:
        """Whether two outputs are many times the tolerance apart, or differ in what has none."""
        mismatches = compare(Expected(first, first, precision=self._device.precision), second, "output").mismatches
        return any(mismatch["error_over_tolerance"] is None or mismatch["error_over_tolerance"] >= _FAR for mismatch in mismatches)

    def is_as_sensitive(self, inputs: list[Any], baseline: Any, outputs: Any) -> bool:
        """Whether outputs are no further from the reference's than its own for inputs that differ in their last digits: where a softmax of large values
        saturates, say, rounding decides, and every order of adding up has its own."""
        try:
            moved = self.run(transform(inputs, "nudged", self._device.torch)[0])[0]
        except WorkerError as error:
            if "CUDA error" in error.message:
                raise
            return False
        outputs = map_tensors(outputs, lambda tensor: tensor.to(self._device.torch))
        apart, least = _apart(baseline, outputs), _apart(baseline, moved)
        # Distances are those of what is finite.
        alike = all(torch.equal(torch.isfinite(a), torch.isfinite(b)) for a, b in zip(_leaves(baseline), _leaves(outputs)))
        return alike and len(apart) == len(least) > 0 and all(a.typical <= b.typical and a.worst <= b.worst for a, b in zip(apart, least))

    def copies(self, inputs: list[Any]) -> list[Any]:
        """The inputs in memory of their own."""
        return map_tensors(inputs, lambda tensor: fresh_copy(tensor, self._device.torch))

    def expect(self, inputs: list[Any], nan: NanRule, double: bool = True) -> Expectation:
        """What a call with these inputs should give; without `double` only at declared precision."""
        baseline, after, _nanoseconds = self.run(inputs)
        changed = any(not same_bits(a, b) for a, b in zip(tensors_of(inputs), tensors_of(after)))
        of = partial(
            Expected, nan=nan, precision=self._device.precision, nearby=partial(self._nearby, inputs), without_nan=partial(self._without_nan, inputs)
        )
        if not double:
            return Expectation(of(baseline, baseline), after if changed else None, False)
        # An output may be a view of an input that later work reuses; nothing else holds these copies, so no further copy is needed.
        try:
            precise = self._align_double(baseline, inputs)
        except _NoDouble as error:
            self._no_double = str(error)
            return Expectation(of(baseline, baseline), after if changed else None, False)
        apart = _apart(precise, baseline)
        gap = self._gap(inputs, baseline, precise, apart)
        if gap is _Gap.ANOTHER:
            # On other inputs it may be the same one.
            differ = any(one.typical > 0 for one, leaf in zip(apart, _leaves(baseline)) if not (leaf.is_floating_point() or leaf.is_complex()))
            return Expectation(of(baseline, baseline), after if changed else None, False, differ)
        # Numbers become tensors for a moment only, whose identities others may have later.
        lasting = {id(tensor) for tensor in tensors_of(precise)}
        distances = {id(leaf): distance for leaf, distance in zip(_leaves(precise), apart) if id(leaf) in lasting}
        return Expectation(of(baseline, precise, noisy=gap is _Gap.NOISE, distances=distances), after if changed else None, True)

    def _align_double(self, baseline: Any, inputs: list[Any]) -> Any:
        """What a float64 run gives, in the form of the baseline's. The first one decides whether tables are lifted: where they round by more than
        matters, and the rest of the module is what it was."""
        precise = _align(baseline, self._run_double(inputs))
        if self._knows_tables or self._way is not nullcontext:
            return precise
        self._knows_tables = True
        lifted = self._run_lifted(inputs)
        if lifted is None:
            return precise
        try:
            lifted = _align(baseline, lifted)
        except _NoDouble:
            return precise
        matters = compare(Expected(precise, precise, precision=self._device.precision), lifted, "output").worst >= _TABLES_MATTER
        apart = _apart(precise, lifted)
        dtypes = [leaf.dtype for leaf in _leaves(baseline)]
        same = len(apart) == len(dtypes) and all(
            not one.is_far(dtype) if dtype.is_floating_point or dtype.is_complex else one.typical == 0 for one, dtype in zip(apart, dtypes)
        )
        if not (matters and same):
            return precise
        self._way = Lifted
        return lifted

    def _run_lifted(self, inputs: list[Any]) -> Any:
        """A float64 run with all that is made on the way in float64 as well; nothing where there is no such thing, or that does not run."""
        if self._double_ns is None or self._double_ns > SLOW_DOUBLE_NS:
            return None
        casts = Lifted()
        try:
            outputs = self._run_wide(self._copied().double(), inputs, torch.float64, casts)
        except Exception:  # dtypes that do not fit, memory: whatever the reason, there is the other run
            if self._device.is_cuda:
                torch.cuda.empty_cache()
            return None
        return outputs if casts.has_lifted else None

    def _gap(self, inputs: list[Any], baseline: Any, precise: Any, apart: list[Distance]) -> _Gap:
        """Whether a float64 run is to be believed: what it has to say is how much rounding does, and zeros would pass for a rounding error of one that
        draws other random numbers."""
        if not any(distance.is_doubtful for distance in apart):
            return _Gap.ROUNDING
        # The first way moves inputs by less than a product of TF32 is off.
        for seed in range(1, 1 + _NOISE_NUDGES):
            try:
                moved = _apart(baseline, self.run(transform(inputs, "nudged", self._device.torch, seed)[0])[0])
            except WorkerError as error:
                if "CUDA error" in error.message:
                    raise
                break
            if len(moved) == len(apart) and all(one.is_noise(other) for one, other in zip(apart, moved) if one.is_doubtful):
                return _Gap.NOISE
        dtypes = [leaf.dtype for leaf in _leaves(baseline)]
        if any(one.is_doubtful and one.is_far(dtype) for one, dtype in zip(apart, dtypes)) and not self._is_right_in_float32(inputs, baseline, precise):
            return _Gap.ANOTHER
        return _Gap.ROUNDING

    def _is_right_in_float32(self, inputs: list[Any], baseline: Any, precise: Any) -> bool:
        """Whether the reference gives the same in float32 as in float64, though not at its declared precision: 16 bits underflow, and what is added to
        a large sum is lost in them."""
        tensors = [*tensors_of(inputs), *self._initial.values()]
        if not any(tensor.is_floating_point() and tensor.dtype.itemsize <= 2 for tensor in tensors):
            return False
        try:
            single = _align(baseline, self._run_wide(self._copied().float(), inputs, torch.float32))
        except Exception:  # whatever the reason, there is one run less to go by
            return False
        return not any(distance.is_far(torch.float32) for distance in _apart(precise, single))

    def _nearby(self, inputs: list[Any]) -> Iterator[Any]:
        """Outputs for inputs whose last digits differ, each time others."""
        for seed in range(_NUDGES):
            changed, reason = transform(inputs, "nudged", self._device.torch, seed)
            if reason is not None:
                return
            yield self.run(changed)[0]

    def _without_nan(self, inputs: list[Any]) -> Iterator[Any]:
        """Outputs for inputs with finite values in the place of NaN, and of infinities, of which differences and quotients are NaN."""
        for finite in _FINITE:

            def replaced(tensor: Tensor) -> Tensor:
                return tensor.masked_fill_(~torch.isfinite(tensor), finite) if tensor.is_floating_point() else tensor

            yield self.run(map_tensors(self.copies(inputs), replaced))[0]

    def _run_double(self, inputs: list[Any]) -> Any:
        if self._no_double is not None:
            raise _NoDouble(self._no_double)
        if self._double_ns is not None and self._double_ns > SLOW_DOUBLE_NS:
            raise _NoDouble("it takes too long")
        start = perf_counter_ns()
        try:
            if self._double is None or self._stateful:
                self._double = self._copied().double()
            outputs = self._run_casting(inputs)
        except Exception as error:  # hard-coded dtypes, hooks, memory: whatever the reason, the baseline itself is the fallback
            self._double = None
            if self._device.is_cuda:
                torch.cuda.empty_cache()
            raise _NoDouble(f"it does not run in float64: {type(error).__name__}") from error
        self._double_ns = perf_counter_ns() - start
        return outputs

    def _run_casting(self, inputs: list[Any]) -> Any:
        """A float64 run of a forward pass that may make or cast tensors by itself, which do not always fit the others then."""
        failures = []
        for way in dict.fromkeys((self._way, nullcontext, Lifted, Uncast)):
            if self._double is None:
                self._double = self._copied().double()
            try:
                outputs = self._run_wide(self._double, inputs, torch.float64, way())
            except Exception as error:
                failures.append(error)
                self._double = None
            else:
                self._way = way
                return outputs
        raise failures[0]

    def _copied(self) -> nn.Module:
        """The module once more, as it is before a call."""
        if self._stateful:
            self._snapshot.restore()
        return copy.deepcopy(self.module)

    def _run_wide(self, module: nn.Module, inputs: list[Any], dtype: torch.dtype, casts: AbstractContextManager[Any] | None = None) -> Any:
        wide = map_tensors(inputs, partial(_upcast, dtype=dtype))
        with torch.no_grad(), casts or nullcontext():
            outputs = module(*wide)
        self._device.synchronize()
        tensors_of(outputs)
        return outputs


def _upcast(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    # Cloned where nothing is cast, because the call may write into it.
    if tensor.is_floating_point():
        return tensor.to(dtype, copy=True)
    return tensor.to(dtype.to_complex(), copy=True) if tensor.is_complex() else tensor.clone()


def _leaves(value: Any) -> Iterator[Tensor]:
    """Every tensor, and every number that is not whole as one; a tensor as often as it occurs."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (float, complex)):
        yield torch.tensor(value, dtype=torch.complex128 if isinstance(value, complex) else torch.float64)
    elif isinstance(value, (list, tuple, Mapping)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(item)


def _apart(first: Any, second: Any) -> list[Distance]:
    """How far apart two outputs are, leaf by leaf of the first one; nothing where their forms differ."""
    pairs = list(zip(_leaves(first), _leaves(second)))
    if any(a.shape != b.shape or a.is_complex() != b.is_complex() or a.is_floating_point() != b.is_floating_point() for a, b in pairs):
        return []
    return [
        Distance.between(real_parts(a), real_parts(b)) if a.is_floating_point() or a.is_complex() else Distance.of_exact(a, b) for a, b in pairs
    ]


def _align(baseline: Any, precise: Any) -> Any:
    """The float64 value in the form of the baseline's: floating tensors and floats from it, everything else from the baseline."""
    if isinstance(baseline, Tensor):
        if not isinstance(precise, Tensor) or precise.shape != baseline.shape:
            raise _NoDouble("its outputs have another form in float64")
        if not (baseline.is_floating_point() or baseline.is_complex()):
            return precise.detach().to(baseline.device) if precise.dtype == baseline.dtype else baseline
        if baseline.is_complex() != precise.is_complex() or not (precise.is_floating_point() or precise.is_complex()):
            raise _NoDouble("its outputs have another type in float64")
        return _narrow(precise.detach().to(baseline.device), baseline.dtype)
    if isinstance(baseline, (list, tuple)):
        if not isinstance(precise, (list, tuple)) or len(precise) != len(baseline):
            raise _NoDouble("its outputs have another form in float64")
        return type(baseline)(_align(b, e) for b, e in zip(baseline, precise))
    if isinstance(baseline, Mapping):
        if not isinstance(precise, Mapping) or precise.keys() != baseline.keys():
            raise _NoDouble("its outputs have another form in float64")
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


def _same(first: Any, second: Any) -> bool:
    """Whether two outputs are the same, bit for bit."""
    a, b = list(_leaves(first)), list(_leaves(second))
    return len(a) == len(b) and all(map(same_bits, a, b))


def agree(first: Any, second: Any) -> bool:
    """Whether two outputs are equal within tolerance."""
    return not compare(Expected(first, first, extent=Extent.FIRST_MISMATCH), second, "output").mismatches
