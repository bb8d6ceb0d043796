"""What a module may be given back."""

from __future__ import annotations

import unittest
from collections import deque
from typing import Any

import support  # noqa: F401 (finds the package)
import torch
from support import DEVICES

from kernelwright_worker.device import Device
from kernelwright_worker.problem import Problem
from kernelwright_worker.reference import Reference
from kernelwright_worker.snapshot import Snapshot


class Cache:
    def __init__(self) -> None:
        self.rows: list[torch.Tensor] = []
        self.seen = 0


class Keeps(torch.nn.Module):
    """Has something of each kind."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(3)
        self.register_buffer("cache", torch.zeros(0, 3))
        self.register_buffer("last", None)
        self.register_buffer("filter", torch.ones(1).expand(5))
        self.calls, self.k, self.total = 0, None, torch.zeros(3)
        self.rows: list[Any] = []
        self.by_length: dict[int, torch.Tensor] = {4: torch.zeros(4)}
        self.recent: deque[int] = deque([1, 2], maxlen=2)
        self.names, self.pair, self.own = {"a"}, ([1], 2), Cache()


class Snapshots(unittest.TestCase):
    def setUp(self) -> None:
        self.module = Keeps()
        self.snapshot = Snapshot.of(self.module)

    def test_tensors_and_values_come_back(self) -> None:
        module, given = self.module, torch.ones(2, 3)
        self.assertFalse(self.snapshot.is_changed())
        module.cache, module.last = torch.cat([module.cache, given]), given
        module.norm.running_mean.add_(1)
        self.assertTrue(self.snapshot.is_changed())
        self.assertTrue(self.snapshot.of_registered().is_changed())
        self.snapshot.restore()
        self.assertFalse(self.snapshot.is_changed())
        self.assertEqual((tuple(module.cache.shape), module.last, float(module.norm.running_mean.sum())), ((0, 3), None, 0.0))
        self.assertTrue(torch.equal(given, torch.ones(2, 3)), "what had taken a buffer's place is left alone")

    def test_each_kind_of_attribute_comes_back(self) -> None:
        def calls(module: Keeps) -> None:
            module.calls += 1

        def attribute(module: Keeps) -> None:
            module.k = torch.ones(3)

        def tensor(module: Keeps) -> None:
            module.total += 1

        def new(module: Keeps) -> None:
            module.made_later = 3

        def rows(module: Keeps) -> None:
            module.rows.append(torch.ones(1))

        def by_length(module: Keeps) -> None:
            module.by_length[8] = torch.ones(8)

        def in_it(module: Keeps) -> None:
            module.by_length[4][0] = 1

        def recent(module: Keeps) -> None:
            module.recent.append(3)

        def names(module: Keeps) -> None:
            module.names.add("b")

        def pair(module: Keeps) -> None:
            module.pair[0].append(1)

        def own(module: Keeps) -> None:
            module.own.seen += 1

        def rows_of_own(module: Keeps) -> None:
            module.own.rows.append(torch.ones(1))

        for change in (calls, attribute, tensor, new, rows, by_length, in_it, recent, names, pair, own, rows_of_own):
            change(self.module)
            self.assertTrue(self.snapshot.is_changed(), change.__name__)
            self.assertFalse(self.snapshot.of_registered().is_changed(), change.__name__)
            self.snapshot.restore()
            self.assertFalse(self.snapshot.is_changed(), change.__name__)
        held = (self.module.calls, self.module.k, self.module.rows, list(self.module.by_length), list(self.module.recent), self.module.recent.maxlen, self.module.names)
        self.assertEqual(held, (0, None, [], [4], [1, 2], 2, {"a"}))
        self.assertFalse(hasattr(self.module, "made_later"))
        self.assertEqual((float(self.module.total.sum()), float(self.module.by_length[4].sum())), (0.0, 0.0))

    def test_objects_from_elsewhere_and_numbers_that_are_equal_are_no_change(self) -> None:
        self.module.device = Device("cpu")
        snapshot = Snapshot.of(self.module)
        self.module.device._noted = "something"
        self.module.calls = int("0")
        self.module.eval()
        self.assertFalse(snapshot.is_changed())


PROBLEM = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.k, self.table = 0, None, None

    def forward(self, x):
        {statement}

def get_inputs():
    return [torch.randn(4, 8)]
"""
CARRIED = (
    "self.calls += 1; return x * self.calls",
    "self.k = x if self.k is None else torch.cat([self.k, x]); return self.k.sum(0)",
)
KEPT = (
    "self.calls += 1; return x * 2",
    "self.table = torch.ones(8, device=x.device) if self.table is None else self.table; return x * self.table",
    "self.last = x; return x * 2",
    "self.calls += 1; assert float(x.abs().max()) > 0.1, 'too small'; return x * 2",
)


class References(unittest.TestCase):
    def reference(self, statement: str, device: str) -> tuple[Reference, list[Any]]:
        problem, place = Problem(PROBLEM.format(statement=statement), "p"), Device(device)
        made = Reference(problem, [], 1, place)
        inputs = problem.inputs(2, place)
        made.first_run(inputs, lambda: [problem.inputs(seed, place) for seed in (3, 4)])
        return made, inputs

    def test_state_in_attributes_is_put_back_before_every_call(self) -> None:
        for device in DEVICES:
            for statement in CARRIED:
                made, inputs = self.reference(statement, device)
                self.assertTrue(made.carries_state and made.is_stateful, statement)
                self.assertTrue(torch.equal(made.outputs(inputs), made.outputs(inputs)), statement)
                self.assertFalse(torch.equal(made.results(inputs)[0], made.results(inputs, inputs)[0]), statement)

    def test_what_outputs_do_not_show_is_left_to_the_module(self) -> None:
        for device in DEVICES:
            for statement in KEPT:
                made, inputs = self.reference(statement, device)
                self.assertFalse(made.carries_state or made.is_stateful, statement)
                kept = vars(made.module).copy()
                made._snapshot.restore()
                self.assertEqual(kept.keys(), vars(made.module).keys())
                self.assertTrue(all(vars(made.module)[name] is value for name, value in kept.items()), statement)


if __name__ == "__main__":
    unittest.main()
