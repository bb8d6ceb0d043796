"""What the allocator's history says of memory that a call may write."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import subprocess
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import support
import torch

from kernelwright_worker import canaries
from kernelwright_worker.device import Device


class Ranges(unittest.TestCase):
    def test_what_was_handed_out_is_taken_out_of_what_was_kept(self) -> None:
        given = [(90, 100), (100, 130), (120, 140), (150, 160), (260, 300), (500, 501)]
        self.assertEqual(list(canaries._without([(100, 200), (250, 260), (490, 510)], given)), [(140, 150), (160, 200), (250, 260), (490, 500), (501, 510)])
        self.assertEqual(list(canaries._without([(0, 8)], [])), [(0, 8)])

    def test_a_history_tells_what_was_asked_for(self) -> None:
        history = [
            {"action": "alloc", "addr": 1024, "size": 10},
            {"action": "free_completed", "addr": 1024, "size": 10},
            {"action": "alloc", "addr": 512, "size": 500},
        ]
        self.assertEqual(canaries._given(history), [(512, 1012), (1024, 1034)])
        self.assertIsNone(canaries._given([*history, {"action": "segment_free", "addr": 0, "size": 2048}]), "it may be anybody's since")

    def test_memory_of_other_streams_and_of_graphs_is_left_alone(self) -> None:
        def segment(start: int, **others: object) -> dict[str, object]:
            blocks = [{"address": start, "size": 512, "state": "active_allocated"}, {"address": start + 512, "size": 1024, "state": "inactive"}]
            return {"stream": 0, "segment_pool_id": (0, 0), "blocks": blocks, **others}

        segments = [segment(0), segment(4096, stream=7), segment(8192, segment_pool_id=(0, 1)), segment(16384, is_expandable=True), segment(32768)]
        self.assertEqual(list(canaries._kept_by_allocator({"segments": segments}, 0)), [(512, 1536), (33280, 34304)])


class Written(unittest.TestCase):
    def test_a_single_byte_anywhere_is_found(self) -> None:
        memory = torch.full((100,), canaries.CUDA_POISON_BYTE, dtype=torch.uint8)
        address = memory.data_ptr()
        self.assertIsNone(canaries._first_written(address + 3, address + 95, torch.device("cpu")))
        for place in (3, 9, 57, 94):
            memory[place] = 0
            self.assertEqual(canaries._first_written(address + 3, address + 95, torch.device("cpu")), address + place)
            memory[place] = canaries.CUDA_POISON_BYTE
        memory[2], memory[95] = 0, 0
        self.assertIsNone(canaries._first_written(address + 3, address + 95, torch.device("cpu")))
        self.assertIsNone(canaries._first_written(address + 5, address + 7, torch.device("cpu")))

    def test_large_pieces_are_looked_at_near_their_ends(self) -> None:
        memory = torch.full((1 << 20,), canaries.CUDA_POISON_BYTE, dtype=torch.uint8)
        start, end = memory.data_ptr(), memory.data_ptr() + memory.numel()
        for place, found in (((64 << 10) - 1, True), (64 << 10, False), ((1 << 20) - (64 << 10), True)):
            memory[place] = 7
            self.assertEqual(canaries._first_written(start, end, torch.device("cpu")), start + place if found else None)
            memory[place] = canaries.CUDA_POISON_BYTE

    def test_it_is_told_how_far_behind_what(self) -> None:
        self.assertIn("12 bytes behind the end of 500 bytes", canaries._told(1024, [(0, 8), (512, 1012), (2048, 4096)]))
        self.assertIn("in what was not allocated", canaries._told(1024, [(2048, 4096)]))


class Calls(unittest.TestCase):
    """Two calls on memory of the host, of which a snapshot and a history tell as torch's allocator tells of a GPU's."""

    def setUp(self) -> None:
        self.memory = torch.zeros(1 << 18, dtype=torch.uint8)
        self.address = self.memory.data_ptr()
        self.history: list[dict[str, object]] = []
        self.recording: list[object] = []
        blocks = [{"address": self.address, "size": 1 << 18, "state": "inactive"}]
        segments = [{"stream": 0, "segment_pool_id": (0, 0), "blocks": blocks}]
        here = mock.Mock(is_cuda=True, torch=torch.device("cpu"))
        self.canaries = canaries.Canaries(here)
        for patch in (
            mock.patch.object(canaries, "_memory_snapshot", lambda _context: {"segments": segments, "device_traces": [self.history]}),
            mock.patch.object(canaries, "_record_history", lambda enabled, *_others, **_more: self.recording.append(enabled)),
            mock.patch.object(torch.cuda, "current_stream", lambda _device: mock.Mock(cuda_stream=0)),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        self.canaries.before_call()
        self.assertIsNone(self.canaries.overrun([]), "the first call compiles, and is not looked at")
        self.assertEqual((int(self.memory.max()), self.recording), (0, []))

    def call(self, given: tuple[int, int], written: tuple[int, int]) -> str | None:
        self.canaries.before_call()
        self.assertEqual(int(self.memory.min()), canaries.CUDA_POISON_BYTE)
        self.history.append({"action": "alloc", "addr": self.address + given[0], "size": given[1]})
        self.memory[written[0] : written[1]] = 1
        return self.canaries.overrun([])

    def test_what_stays_within_is_fine_and_what_does_not_is_told(self) -> None:
        self.assertIsNone(self.call((512, 1000), (512, 1512)))
        self.assertIn("4 bytes behind the end of 1000 bytes", self.call((512, 1000), (1516, 1520)) or "")
        self.assertEqual(self.recording, ["all", None] * 2)

    def test_what_a_thread_is_given_and_writes_meanwhile_is_no_overrun(self) -> None:
        def first_written(start: int, end: int, device: torch.device) -> int | None:
            self.history.append({"action": "alloc", "addr": self.address + 2048, "size": 2048})
            self.memory[2048:4096] = 1
            return find(start, end, device)

        find = canaries._first_written
        with mock.patch.object(canaries, "_first_written", first_written):
            self.assertIsNone(self.call((512, 1000), (512, 1512)))
        self.assertEqual(self.recording, ["all", None])

    def test_memory_that_went_back_to_the_driver_is_not_looked_at(self) -> None:
        self.history.append({"action": "segment_free", "addr": self.address, "size": 1 << 18})
        self.assertIsNone(self.call((512, 1000), (0, 4096)))


@contextlib.contextmanager
def poisoned() -> Iterator[None]:
    device = Device("cpu")
    device.poison_heap()
    try:
        yield
    finally:
        device.unpoison()


def leave_blocks_of(nbytes: int) -> None:
    """Frees blocks that lie apart, of which malloc would set one aside for the memory of an output of 20 bytes and hand that out as it is."""
    malloc, free = ctypes.CDLL(None).malloc, ctypes.CDLL(None).free
    malloc.restype, malloc.argtypes, free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
    blocks = [malloc(nbytes) for _ in range(18)]
    for block in blocks[::2]:
        free(block)
    for _ in range(7):
        malloc(nbytes)


class Host(unittest.TestCase):
    def overrun(self, outputs: object) -> str | None:
        return canaries.Canaries(Device("cpu")).overrun(outputs)

    def is_run_with(self, tunables: str) -> bool:
        """Whether malloc is told so here; if not, the test has been run in a process where it is."""
        if platform.libc_ver()[0] != "glibc":
            self.skipTest("another C library")
        if os.environ.get("GLIBC_TUNABLES") == tunables:
            return True
        command = [sys.executable, "-m", "unittest", f"{Path(__file__).stem}.Host.{self._testMethodName}"]
        environment = {**os.environ, "GLIBC_TUNABLES": tunables}
        ended = subprocess.run(command, env=environment, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return False

    def test_a_byte_behind_an_output_is_found_however_old_its_memory_is(self) -> None:
        if not self.is_run_with(support.SETS_NOTHING_ASIDE):
            return
        with poisoned():
            leave_blocks_of(136)
            for nbytes in (20, 1024, 4096, 100_003, 1 << 20):
                for behind in (0, 3):
                    tensor = torch.empty(nbytes, dtype=torch.uint8)
                    self.assertIsNone(self.overrun(tensor))
                    tensor.fill_(7)
                    self.assertIsNone(self.overrun([{"a": tensor[5:]}]))
                    ctypes.memset(tensor.data_ptr() + nbytes + behind, 7, 1)
                    self.assertIn(f"{behind} bytes behind the end of an output of {nbytes} bytes", self.overrun((1, [tensor])) or "")

    def test_where_malloc_sets_memory_aside_nothing_is_said(self) -> None:
        if not self.is_run_with(""):
            return
        with poisoned():
            looking = canaries.Canaries(Device("cpu"))
            self.assertIsNone(looking.overrun(torch.empty(512, dtype=torch.uint8)))
            # Blocks of the size that malloc looks for where memory for such an output has to begin at a multiple of 64.
            leave_blocks_of(632)
            self.assertIsNone(looking.overrun(torch.empty(512, dtype=torch.uint8)))

    def test_memory_of_others_is_not_looked_at(self) -> None:
        with poisoned():
            around = bytearray(64)
            self.assertIsNone(self.overrun([torch.frombuffer(around, dtype=torch.uint8, count=20), torch.empty(0), torch.empty(9, device="meta"), 3]))

    def test_where_malloc_fills_nothing_nothing_is_said(self) -> None:
        tensor = torch.empty(1024, dtype=torch.uint8)
        ctypes.memset(tensor.data_ptr() + 1024, 7, 8)
        self.assertIsNone(self.overrun(tensor))


if __name__ == "__main__":
    unittest.main()
