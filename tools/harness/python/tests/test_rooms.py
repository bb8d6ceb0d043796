"""Memory for the inputs of timed calls: what lies in it, and where it begins."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from support import DEVICES, ROOT

import torch

from kernelwright_worker.arena import Arena, write_arena
from kernelwright_worker.device import Device
from kernelwright_worker.layout import ALIGNMENT, fresh_copy, guarded_copy, window_of
from kernelwright_worker.recipes import Recipe, apply
from kernelwright_worker.rooms import Rooms
from kernelwright_worker.timing import Batch

_PAGE = 4096
#: Counts the page faults of timed batches of different lengths.
_FAULTS = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from resource import RUSAGE_SELF, getrusage
import torch
from kernelwright_worker.device import Device, keep_freed_memory
from kernelwright_worker.recipes import Recipe, apply
from kernelwright_worker.timing import Batch

keep_freed_memory()
batch, like, counts = Batch(Device("cpu")), [torch.ones(2048, 2048)], []
for count in (1, 3, 4, 3, 4):
    batch.refill(dict.fromkeys(range(count), Recipe()), like, [None])
    before = getrusage(RUSAGE_SELF).ru_minflt
    batch.time(lambda x: x * 2)
    counts.append(getrusage(RUSAGE_SELF).ru_minflt - before)
print(counts)
"""


#: Counts the page faults until there is a batch for which memory was touched ahead.
_AHEAD = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from resource import RUSAGE_SELF, getrusage
import torch
from kernelwright_worker.device import Device, keep_freed_memory
from kernelwright_worker.timing import Batch

keep_freed_memory()
like, count, batch = [torch.ones(1 << 16)], 100, Batch(Device("cpu"))
batch.foresee(count * ((1 << 18) + 8192), 2 * count << 18)
batch.settle()
before = getrusage(RUSAGE_SELF).ru_minflt
for calls in (1, count):
    batch.place([dict(entry=entry, base=0, reserve=True) for entry in range(calls)], lambda _base: like)
    batch.time(lambda x: x * 2)
print(getrusage(RUSAGE_SELF).ru_minflt - before)
"""


class TestRooms(unittest.TestCase):
    def test_every_call_has_the_values_in_memory_of_its_own(self) -> None:
        for device in DEVICES:
            with self.subTest(device):
                like = [torch.randn(300, 7, device=device), torch.arange(5, device=device), torch.empty(0, device=device)]
                calls = Rooms(torch.device(device)).at_least(3, like)
                for windows in calls:
                    for window, tensor in zip(windows, like, strict=True):
                        self.assertTrue(torch.equal(window, window_of(tensor)))
                addresses = {window.data_ptr() for windows in calls for window in windows if window.numel()}
                self.assertEqual(len(addresses), 6)

    def test_what_lies_around_inputs_is_no_number(self) -> None:
        like = [torch.randn(300, 7), torch.empty(0), torch.randn(5, 8)[:, :3].requires_grad_(True), torch.ones(2, dtype=torch.float16).expand(4, 2)]
        for windows in Rooms(torch.device("cpu")).at_least(3, like):
            self.assert_alone(windows[0].data_ptr(), windows[0].numel())
        for tensor in like:
            copy = guarded_copy(tensor)
            self.assertTrue(torch.equal(copy, tensor) and copy.stride() == tensor.stride() and copy.requires_grad == tensor.requires_grad)
            self.assertEqual((copy.storage_offset(), copy.untyped_storage().nbytes()), (0, window_of(tensor.detach()).numel()))
            if tensor.numel():
                self.assert_alone(copy.data_ptr(), window_of(tensor.detach()).numel())

    def test_what_begins_behind_an_aligned_address_does_so_in_every_copy(self) -> None:
        for tensor in (torch.randn(1000)[1:], torch.randn(9, 50)[:, 3:20], torch.randn(64)):
            wanted = tensor.data_ptr() % ALIGNMENT
            fd, entries = write_arena([tensor])
            arrived = Arena(fd).tensor(entries[0])
            os.close(fd)
            copies = [arrived, guarded_copy(arrived), fresh_copy(arrived, torch.device("cpu")), *apply([arrived], Recipe(scale=2.0), torch.device("cpu")), *apply([arrived], Recipe(rotate=2), torch.device("cpu"))]
            windows = [window for call in Rooms(torch.device("cpu")).at_least(3, [copies[1]]) for window in call]
            self.assertEqual([copy.data_ptr() % ALIGNMENT for copy in copies + windows], [wanted] * 8, wanted)
            self.assertTrue(torch.equal(copies[1], tensor) and torch.equal(copies[2], tensor))
            for window in windows:
                self.assert_alone(window.data_ptr(), window.numel())

    def assert_alone(self, address: int, length: int) -> None:
        for start in (address - 8, address + length):
            around = [kind.from_address(start).value for kind in (ctypes.c_float, ctypes.c_double)]
            self.assertTrue(all(value != value for value in around), around)

    def test_rooms_stay_where_they_are_when_more_are_needed(self) -> None:
        rooms, like = Rooms(torch.device("cpu")), [torch.zeros(1000)]
        first = [window.data_ptr() for (window,) in rooms.at_least(2, like)]
        self.assertEqual([window.data_ptr() for (window,) in rooms.at_least(5, like)][:2], first)
        self.assertEqual(len(rooms.at_least(1, like)), 1)

    def test_little_memory_is_kept_for_tensors_of_the_same_sizes(self) -> None:
        rooms, like = Rooms(torch.device("cpu")), [torch.zeros(1000)]

        def places(tensors: list[torch.Tensor], count: int = 2) -> list[int]:
            return [window.data_ptr() for windows in rooms.at_least(count, tensors) for window in windows]

        first = places(like)
        rooms.clear()
        self.assertEqual(places(like), first)
        other = rooms.at_least(2, [torch.ones(500), torch.ones(3)])
        self.assertEqual([window.numel() for windows in other for window in windows], [2000, 12, 2000, 12])
        for entirely, most in ((True, 1 << 20), (False, 100)):
            with self.subTest(entirely=entirely), mock.patch("kernelwright_worker.rooms._KEPT", most):
                windows = rooms.at_least(2, like)
                rooms.clear(entirely=entirely)
                self.assertFalse(any(window is kept for (window,), (kept,) in zip(windows, rooms.at_least(2, like))))

    def test_calls_begin_at_every_place_of_a_page_and_in_the_same_order_everywhere(self) -> None:
        like = [torch.zeros(1 << 16), torch.zeros(1 << 16)]

        def starts() -> list[list[int]]:
            return [[window.data_ptr() % _PAGE for window in windows] for windows in Rooms(torch.device("cpu")).at_least(64, like)]

        calls = starts()
        self.assertEqual(calls, starts())
        for tensor in range(2):
            self.assertEqual(sorted(call[tensor] for call in calls), list(range(0, _PAGE, 64)))
        distances = {(call[0] - call[1]) % _PAGE for call in calls}
        self.assertGreater(len(distances), 16, "inputs of one call do not keep their distance either")

    def test_windows_lie_in_what_was_touched_ahead_as_far_as_it_has_room(self) -> None:
        like = [torch.randn(3000), torch.arange(5)]
        ahead, later = Rooms(torch.device("cpu")), Rooms(torch.device("cpu"))
        ahead.foresee(4 * 6 * _PAGE, 1 << 20)
        ahead.settle()
        first = ahead.at_least(2, like)
        for rooms, expected in zip(ahead.at_least(50, like), later.at_least(50, like)):
            for window, other, tensor in zip(rooms, expected, like, strict=True):
                self.assertTrue(torch.equal(window, window_of(tensor)))
                self.assertEqual(window.data_ptr() % _PAGE, other.data_ptr() % _PAGE, "begins where it would otherwise")
                self.assertEqual(window.untyped_storage().nbytes(), window.numel(), "nothing leads to other windows")
        self.assertTrue(all(kept is window for call, again in zip(first, ahead.at_least(2, like)) for kept, window in zip(call, again)))
        assert ahead._foreseen is not None
        touched = torch.frombuffer(ahead._foreseen._mapping, dtype=torch.uint8)
        lie_there = [0 <= window.data_ptr() - touched.data_ptr() < len(touched) for call in ahead.at_least(50, like) for window in call]
        self.assertEqual(lie_there, [True] * 4 + [False] * 96, "all of the first two calls, and none of those that need more than is left")
        for windows in ahead.at_least(50, like):
            self.assert_alone(windows[0].data_ptr(), windows[0].numel())

    def test_nothing_depends_on_what_was_to_be_touched_ahead(self) -> None:
        like = [torch.randn(300)]
        for failing in ("threading.Thread.start", "torch.empty"):
            rooms = Rooms(torch.device("cpu"))
            with mock.patch(failing, side_effect=RuntimeError("no more of these")):
                rooms.foresee(1 << 20, 1 << 20)
            rooms.settle()
            ((window,),) = rooms.at_least(1, like)
            self.assertTrue(torch.equal(window, window_of(like[0])))

    def test_memory_that_was_touched_ahead_costs_batches_no_pages(self) -> None:
        # Outputs alone are more than six thousand pages of 4 KiB.
        faults = int(subprocess.run([sys.executable, "-c", _AHEAD], capture_output=True, check=True, text=True).stdout)
        self.assertLess(faults, 1000)

    def test_a_batch_over_rooms_keeps_layouts_and_aliases_nothing(self) -> None:
        batch = Batch(Device("cpu"))
        like = [torch.randn(4, 6).t(), [torch.ones(3).expand(2, 3)], 7]
        batch.refill({1: Recipe(), 2: Recipe()}, like, [None, None])
        first, second = batch.inputs(1), batch.inputs(2)
        self.assertEqual((first[0].stride(), first[1][0].stride(), first[2]), (like[0].stride(), (0, 1), 7))
        self.assertEqual(first[0].storage_offset(), 0)
        first[0].zero_()
        self.assertTrue(torch.equal(second[0], like[0]) and torch.equal(second[1][0], like[1][0]))
        batch.refill({3: Recipe()}, like, [None, None])
        self.assertTrue(torch.equal(batch.inputs(3)[0], like[0]), "what the last batch did to it is gone")

    def test_only_the_first_batch_touches_memory_for_the_first_time(self) -> None:
        # In a process of its own: what malloc holds depends on all that was there before.
        faults = json.loads(subprocess.run([sys.executable, "-c", _FAULTS], capture_output=True, check=True, text=True).stdout)
        self.assertGreater(faults[0], 1000, "a page is one of 4 KiB")
        self.assertLess(max(faults[1:]), 100, faults)


class TestStack(unittest.TestCase):
    @unittest.skipUnless(shutil.which("gcc"), "needs gcc")
    def test_batches_on_a_cpu_run_at_different_depths(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            library = os.path.join(folder, "depth.so")
            source = "unsigned long depth(void) { return (unsigned long)__builtin_frame_address(0); }"
            subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-o", library, "-"], input=source, text=True, check=True)
            depth = ctypes.CDLL(library).depth
        depth.restype = ctypes.c_ulong
        batch, seen = Batch(Device("cpu")), []

        def call(x: torch.Tensor) -> torch.Tensor:
            seen.append(depth())
            return x

        for _ in range(16):
            batch.place([{"entry": 0, "base": 0}, {"entry": 1, "base": 0}], lambda _base: [torch.ones(2)])
            batch.time(call)
        firsts, seconds = seen[::2], seen[1::2]
        self.assertEqual(firsts, seconds, "all calls of a batch begin where its first one does")
        lines = [address % _PAGE // 64 for address in firsts]
        self.assertGreater(len(set(lines)), 8, f"lines of cache in their pages: {lines}")
        self.assertTrue(all(one != next_one for one, next_one in itertools.pairwise(firsts)))


if __name__ == "__main__":
    unittest.main()
