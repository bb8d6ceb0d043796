"""Integers that name few of many places."""

from __future__ import annotations

import unittest
from collections.abc import Callable

from support import DEVICES

import torch
from torch import Tensor

from kernelwright_worker import places


def found(make: Callable[[], list[Tensor]], *lengths: int) -> tuple[int | None, ...]:
    torch.manual_seed(3)
    inputs, again = make(), make()
    return places.find(inputs, again, lengths)


class Places(unittest.TestCase):
    def test_words_of_a_vocabulary_name_its_places(self) -> None:
        self.assertEqual(found(lambda: [torch.randn(9), torch.randint(32000, (256,))], 256, 768, 32000), (None, 32000))
        self.assertEqual(found(lambda: [torch.randint(32000, (4, 64), dtype=torch.int32)], 256, 50000, 32000), (32000,))

    def test_what_may_be_anything_else_names_none(self) -> None:
        for make in (
            lambda: torch.randint(32000, (16,)),
            lambda: torch.randint(32000, (40000,)),
            lambda: torch.randint(9000, (256,)),
            lambda: torch.randint(2000, 32000, (256,)),
            lambda: torch.randint(-32000, 32000, (256,)),
            lambda: torch.randint(33000, 60000, (256,)),
            lambda: torch.arange(256) * 125,
            lambda: torch.rand(256) * 32000,
        ):
            self.assertEqual(found(lambda: [make()], 256, 32000), (None,))

    def test_the_outermost_places_are_named_and_order_stays(self) -> None:
        numbers = torch.randint(5, 31990, (256,))
        for name in DEVICES:
            placed, scores = places.outermost([numbers, torch.ones(3)], torch.device(name), (32000, None))
            self.check(numbers, placed.cpu())
            self.assertTrue(torch.equal(scores.cpu(), torch.ones(3)))

    def check(self, numbers: Tensor, changed: Tensor) -> None:
        low, high = numbers == numbers.min(), numbers == numbers.max()
        self.assertTrue(bool((changed[low] == 0).all()) and bool((changed[high] == 31999).all()))
        self.assertTrue(torch.equal(changed[~low & ~high], numbers[~low & ~high]))
        self.assertTrue(torch.equal(changed.argsort(stable=True), numbers.argsort(stable=True)))


if __name__ == "__main__":
    unittest.main()
