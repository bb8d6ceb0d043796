"""Integers of which it is known how they were drawn."""

from __future__ import annotations

import itertools
import random
import unittest
from collections.abc import Callable

from support import DEVICES

import torch
from torch import Tensor

from kernelwright_worker import ranges
from kernelwright_worker.ranges import Range, Watch


def seen(make: Callable[[], Tensor]) -> Range | None:
    with Watch() as watch:
        tensor = make()
    return watch.of([tensor])[0]


def with_mask() -> Tensor:
    lengths = torch.randint(1, 9, (4,))
    kept = lengths.to(torch.int32)
    _mask = torch.arange(9) < lengths[:, None]
    return kept


def with_one_set() -> Tensor:
    lengths = torch.randint(1, 9, (4,))
    lengths[0] = 9
    return lengths


class Ranges(unittest.TestCase):
    def test_what_was_drawn_from_a_range_is_known(self) -> None:
        for make in (
            lambda: torch.randint(0, 9, (4,)),
            lambda: torch.randint(9, (4,), dtype=torch.int32),
            lambda: torch.randint(low=0, high=9, size=(4,)),
            lambda: torch.randint(0, high=9, size=(2, 2)).int().view(4),
        ):
            self.assertEqual(seen(make), Range(0, 9))

    def test_numbers_that_the_file_names_are_telling(self) -> None:
        with Watch() as watch:
            targets = torch.randint(0, 20_000, (512,))
        source = "class Model2:\n    ignored = 12345\n    width, scale = 20_000, 0.777\ntargets = torch.randint(0, 20000, (512,))\nother = 19999\n"
        (known,) = watch.of([targets], source)
        self.assertEqual(known, Range(0, 20_000, (12345, 512)))
        prose = f"Layers 1_ to 3__4, 07, 12_34, 0x10, {'9' * 5000}, 1_000 and so on."
        self.assertEqual(watch.of([targets], prose), (Range(0, 20_000, (7, 1000)),), "what looks like a number may be none")
        for seed, few in itertools.product(range(8), (targets, targets[:64].clone())):
            (drawn,) = ranges.ranged([few], torch.device("cpu"), seed, (known,))
            self.assertGreater(int((drawn == 12345).sum()), 1)

    def test_what_else_was_made_of_is_not(self) -> None:
        for make in (
            lambda: torch.randint(0, 9, (4,)).sort().values,
            lambda: torch.randint(0, 9, (4,)) + torch.arange(4),
            lambda: torch.randint(0, 9, (4,)).float(),
            lambda: torch.randint(0, 9, (8,))[:4],
            lambda: torch.randperm(9),
            with_mask,
            with_one_set,
        ):
            self.assertIsNone(seen(make))

    def test_what_comes_twice_stays_the_same_both_times(self) -> None:
        with Watch() as watch:
            twice, once = torch.randint(0, 9, (4,)), torch.randint(0, 5, (4,))
            tensors = [twice, once, twice.to(torch.int32)]
        self.assertEqual(watch.of(tensors), (None, Range(0, 5), None))

    def test_a_number_alone_is_one_that_tells(self) -> None:
        for shape in ((), (1,), (1, 1)):
            (changed,) = ranges.ranged([torch.full(shape, 77)], torch.device("cpu"), 7, (Range(3, 1000),))
            self.assertEqual((changed.shape, int(changed)), (torch.Size(shape), 3))

    def test_telling_numbers_are_in_the_range(self) -> None:
        numbers = Range(0, 1000).telling(random.Random(1))
        self.assertEqual((numbers[:2], 511 in numbers), ([0, 999], True))
        self.assertTrue(any(number and number % 64 == 0 for number in numbers))
        for low, high in ((5, 6), (-3, 4), (200, 257), (0, 2**31 - 1), (-9, -2)):
            numbers = Range(low, high).telling(random.Random(1))
            self.assertTrue(numbers and numbers[0] == low and all(low <= number < high for number in numbers))

    def test_few_integers_are_those_and_half_of_many(self) -> None:
        for name in DEVICES:
            device = torch.device(name)
            few, many, floats = torch.randint(1, 4000, (4,)), torch.randint(1, 4000, (64, 64), dtype=torch.int32), torch.rand(3)
            known = (Range(1, 4000), Range(1, 4000), None)
            self.assertTrue(ranges.tell([few, many, floats], known) and not ranges.tell([floats], (None,)))
            changed = [tensor.cpu() for tensor in ranges.ranged([few, many, floats], device, 7, known)]
            self.assertTrue({1, 3999} <= set(changed[0].tolist()))
            self.assertTrue(0.4 < float((changed[1] != many).double().mean()) < 0.6 and changed[1].unique().numel() < 3000)
            self.assertTrue(torch.equal(changed[2], floats))

    def test_of_a_few_dozens_nearly_all_are_those(self) -> None:
        borders = torch.randint(0, 1 << 20, (127,))
        for seed in range(32):
            (changed,) = ranges.ranged([borders], torch.device("cpu"), seed, (Range(0, 1 << 20),))
            self.assertLess(int((changed == borders).sum()), 24)
            self.assertLess(changed.unique().numel(), 32)
            ends = torch.tensor([0, 1 << 20])
            self.assertGreaterEqual(int(torch.cat([changed, ends]).sort().values.diff().max()), 1 << 18, "a part as large as none is by chance")

    def test_of_numbers_that_all_come_anyway_whole_rows_and_columns_are_the_largest(self) -> None:
        for range_, largest in ((Range(0, 8), 7), (Range(-9, 7), -9)):
            # The same numbers every time, as what is done to them follows from a seed: then it is known where a row of one number lies.
            tensor = torch.randint(range_.low, range_.high, (20, 30), generator=torch.Generator().manual_seed(1))
            self.assertTrue(ranges.tell([tensor], (range_,)))
            (changed,) = ranges.ranged([tensor], torch.device("cpu"), 7, (range_,))
            extreme = changed == largest
            first, last, inner = 1, 2, 12
            width = range_.high - range_.low
            self.assertTrue(bool((changed[inner] >= range_.low + width // 4).all() and (changed[inner] < range_.low + width // 2).all()))
            self.assertTrue(bool((changed[first] == range_.low).all() and (changed[last] == range_.high - 1).all()))
            others = torch.tensor([row for row in range(20) if row not in (first, last, inner)])
            self.assertEqual([int((part.double().mean(dimension) > 0.8).sum()) for part, dimension in ((extreme, 1), (extreme[others], 0))], [5, 7])
            self.assertTrue(torch.equal(changed[others][~extreme[others]], tensor[others][~extreme[others]]))
            self.assertFalse(bool(extreme[others].all(1).all()))

    def test_in_a_row_of_many_half_are_the_largest(self) -> None:
        tensor = torch.randint(0, 256, (200_000,))
        (changed,) = ranges.ranged([tensor], torch.device("cpu"), 7, (Range(0, 256),))
        self.assertGreater(int((changed == 255).sum()), 90_000)
        self.assertGreater(int((changed < 255).sum()), 90_000)

    def test_of_two_numbers_none_is_more_telling(self) -> None:
        tensor = torch.randint(0, 2, (40,))
        self.assertFalse(ranges.tell([tensor], (Range(0, 2),)))
        self.assertTrue(torch.equal(ranges.ranged([tensor], torch.device("cpu"), 7, (Range(0, 2),))[0], tensor))


if __name__ == "__main__":
    unittest.main()
