"""What whoever called would read: copies of a GPU call's outputs, made as soon as the caller's stream has come to the end of the call.

The caller's next operator may begin then, and nobody waits for the device before it. Work that the call has left on another stream, and that the caller's
stream does not wait for, may not have come to its end. The copies have a stream of their own, which waits for the caller's alone and whose work goes first:
behind the caller's own it would wait for whatever had begun before. Every second call finds the caller's stream busy for a while: what has to wait for its
inputs then begins no earlier than what the call does on that stream. The others find all other streams busy that torch hands out: work that is left on one of
those, and that nothing waits for, would mostly come to its end in time otherwise.

Only candidates that name streams or threads are asked: kernels that compare have to be loaded, which takes a tenth of a second, and nothing is gained in timed
calls, which the device has to have finished.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import torch
from torch import Tensor

from .device import CUDA_POISON_BYTE, Device
from .layout import ordinary_tensors, same_bits, window_of

#: What makes, or goes over to, another stream or thread.
_ELSEWHERE = re.compile(r"(?<!getCurrentCUDA)Stream\(|StreamCreate|StreamFromPool|StreamGuard|PerThread|per_thread|cuda\.stream\(|set_stream|[Tt]hread\(|std::(?:thread|async)|Executor")
#: The caller's stream is busy for so many times what it took the host to make the last call, within these bounds in nanoseconds.
_TIMES, _LEAST_NS, _MOST_NS = 4, 1_000_000, 8_000_000
#: Of a GPU's clock, nearly.
_CYCLES_PER_NS = 2
#: Streams of this priority go before those of the usual one, of which torch hands out so many in turns.
_FIRST, _STREAMS = -1, 32

# Bound before any candidate is imported; those that switch streams are the extension's own, which take less time than a kernel.
_current_stream, _record, _wait_event = torch.cuda.current_stream, torch.cuda.Event.record, torch.cuda.Stream.wait_event
_stream_of, _set_stream = getattr(torch._C, "_cuda_getCurrentStream", None), getattr(torch._C, "_cuda_setStream", None)
_clock, _sleep = perf_counter_ns, torch.cuda._sleep
_clone, _detach, _fill = Tensor.clone, Tensor.detach, Tensor.fill_
_same_bits, _window_of, _ordinary_tensors = same_bits, window_of, ordinary_tensors


class NextReader:
    """Reads the outputs of one call at a time; nothing on the CPU, nor where the candidate's text names no other stream."""

    def __init__(self, device: Device, source: str) -> None:
        self._device = device
        self._is_asked = device.is_cuda and _ELSEWHERE.search(source) is not None
        self._callers: Any = None
        self._own: Any = None
        self._end_of_call: Any = None
        self._others: list[Any] = []
        self._room = 0
        self._copies: list[tuple[Tensor, Tensor]] = []
        self._calls = 0
        self._began = self._took = 0

    def before_call(self) -> None:
        """Notes the caller's stream, and keeps it busy every second time, all others in between."""
        self._copies = []
        if not self._is_asked or _stream_of is None or _set_stream is None:
            return
        if self._own is None:
            self._own, self._end_of_call = torch.cuda.Stream(self._device.torch, priority=_FIRST), torch.cuda.Event()
            self._others = [torch.cuda.Stream(self._device.torch) for _ in range(_STREAMS)]
        self._callers, self._room = _current_stream(self._device.torch), self._device.free_memory() or 0
        self._calls += 1
        others = [stream for stream in self._others if stream != self._callers]
        for stream in [self._callers] if self._calls % 2 == 0 else others:
            self._on(stream, lambda: _sleep(_CYCLES_PER_NS * min(max(_TIMES * self._took, _LEAST_NS), _MOST_NS)))
        self._began = _clock()

    def _on(self, stream: Any, work: Callable[[], None]) -> None:
        """Does something while another stream is the current one."""
        current = _stream_of(self._own.device_index)
        _set_stream(stream_id=stream.stream_id, device_index=stream.device_index, device_type=stream.device_type)
        try:
            work()
        finally:
            _set_stream(stream_id=current[0], device_index=current[1], device_type=current[2])

    def after_call(self, outputs: Any) -> None:
        """Copies the outputs behind that stream's work, as far as there is room; the device is not waited for."""
        if self._own is None:
            return
        self._took = _clock() - self._began
        _record(self._end_of_call, self._callers)
        _wait_event(self._own, self._end_of_call)
        self._on(self._own, lambda: self._copy(outputs))

    def _copy(self, outputs: Any) -> None:
        for tensor in _ordinary_tensors(outputs):
            if not tensor.is_cuda:
                continue
            self._room -= 2 * tensor.numel() * tensor.dtype.itemsize
            if self._room > 0:
                self._copies.append((_detach(tensor), _clone(_detach(tensor))))

    def missed(self) -> int:
        """How many elements were written after they were copied: asked once the device has finished. The copies are no answers that anybody finds in freed
        memory."""
        copies, self._copies = self._copies, []
        missed = sum(_differing(tensor, copy) for tensor, copy in copies if not _same_bits(tensor, copy))
        for _tensor, copy in copies:
            _fill(_window_of(copy), CUDA_POISON_BYTE)
        return missed


def _differing(tensor: Tensor, copy: Tensor) -> int:
    return int((tensor != copy).sum().clamp(min=1))
