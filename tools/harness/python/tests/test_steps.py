"""Outputs that are an input, moved by a little."""

from __future__ import annotations

import unittest

from support import DEVICES

import torch
from torch import Tensor

from kernelwright_worker import steps


def explain(origin: Tensor, step: Tensor, given: Tensor, noise: float = 0.0) -> tuple[str, float] | None:
    baseline = origin + step
    precise = baseline.double() + noise
    others = [("input[0]", torch.zeros_like(origin)), ("input[1]", origin.double()), ("input[2]", origin[1:]), ("input[3]", origin)]
    return steps.explain(baseline, precise, given, others)


class Steps(unittest.TestCase):
    def test_a_step_of_which_a_part_is_missing_is_off(self) -> None:
        for name in DEVICES:
            origin = torch.randn(5000, device=name)
            step = 1e-3 * torch.randn(5000, device=name)
            self.assertIsNone(explain(origin, step, origin + step))
            self.assertIsNone(explain(origin, step, (origin.double() + step).float()))
            detail, ratio = explain(origin, step, origin + 0.9 * step) or ("", 0.0)
            self.assertIn("the step from input[3] is 10 % off on average", detail)
            self.assertGreater(ratio, 10)
            self.assertIsNotNone(explain(origin, step, origin + step - 1e-5 * origin), "one part in a hundred of it")
            self.assertIsNone(explain(origin, step, origin + step * (1 + 1e-4)), "as far off as a kernel may be")

    def test_what_is_no_step_is_left_to_others(self) -> None:
        origin = torch.randn(5000)
        for step in (torch.randn(5000), 0.1 * origin, torch.zeros(5000), 1e-7 * torch.randn(5000)):
            self.assertIsNone(explain(origin, step, origin + 1.5 * step))
        few = origin[:32]
        self.assertIsNone(explain(few, 1e-3 * few, few))
        half = origin.bfloat16()
        self.assertIsNone(steps.explain(half, half.float(), half * 1.01, [("input[0]", half * 1.01)]))
        self.assertIsNone(explain(torch.full((100,), torch.nan), torch.ones(100), torch.ones(100)))
        normed = torch.nn.functional.layer_norm(origin, (5000,))
        self.assertIsNone(steps.explain(normed, normed.double(), normed * (1 + 1e-5), [("input[0]", origin)]), "there is but one tensor")

    def test_what_rounding_makes_of_the_baseline_is_allowed_for(self) -> None:
        origin, step = torch.randn(5000), 1e-3 * torch.randn(5000)
        self.assertIsNotNone(explain(origin, step, origin + 0.95 * step))
        self.assertIsNone(explain(origin, step, origin + 0.95 * step, noise=1e-4))

    def test_a_few_parts_may_have_moved_far(self) -> None:
        cache = torch.randn(200, 64)
        step = torch.zeros(200, 64)
        step[17] = torch.randn(64)
        self.assertIsNone(explain(cache, step, cache + step + 1e-6))
        self.assertIsNotNone(explain(cache, step, cache + 0.9 * step))


if __name__ == "__main__":
    unittest.main()
