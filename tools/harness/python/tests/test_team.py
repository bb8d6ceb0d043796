"""Threads of operators, awake and side by side before a batch."""

from __future__ import annotations

import os
import unittest
from time import perf_counter_ns

import support  # noqa: F401  # makes the worker's package importable
import torch

from kernelwright_worker.device import Device
from kernelwright_worker.team import Team


def _threads() -> dict[int, int]:
    """What each thread of this process has run, in nanoseconds."""
    ran = {}
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/schedstat", encoding="ascii") as file:
            ran[int(thread)] = int(file.read().split()[0])
    return ran


class TeamTest(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())

    def test_every_thread_works(self) -> None:
        torch.set_num_threads(3)
        team = Team(3)
        team.gather()  # starts them
        before = _threads()
        team.gather()
        worked = [thread for thread, ran in _threads().items() if ran > before.get(thread, ran)]
        self.assertGreaterEqual(len(worked), 3)

    def test_threads_that_have_one_processor_are_not_waited_for(self) -> None:
        allowed = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, allowed)
        os.sched_setaffinity(0, {min(allowed)})
        torch.set_num_threads(2)
        start = perf_counter_ns()
        Team(2).gather()
        self.assertLess(perf_counter_ns() - start, 2_000_000_000, "it gives up after milliseconds; the rest is for a busy machine")

    def test_one_thread_needs_no_gathering(self) -> None:
        alone, two = Device("cpu"), Device("cpu")
        alone.configure(1, None)
        two.configure(2, None)
        self.assertEqual((alone._team is None, two._team is None), (True, False))
        alone.gather()


if __name__ == "__main__":
    unittest.main()
