"""What is expected of a call: when a float64 run says what is right, and when it is another function."""

from __future__ import annotations

import math
import unittest

from support import DEVICES, SEED

import torch

from kernelwright_worker.compare import compare
from kernelwright_worker.device import Device
from kernelwright_worker.expected import NanRule
from kernelwright_worker.problem import Problem
from kernelwright_worker.reference import Expectation, Reference
from kernelwright_worker.rounding import Rounding
from kernelwright_worker.tolerance import Distance, real_parts

HEAD = "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
NORMAL = "def get_inputs():\n    return [torch.randn(64, 256)]\n"
#: In float64 each of these is another function: other random numbers, or another branch.
OTHERS = {
    "a seeded mask": "        torch.manual_seed(7)\n        return x * (torch.rand_like(x) < 0.5) * 2.0\n",
    "seeded noise": "        g = torch.Generator(x.device).manual_seed(7)\n"
    "        return x * torch.randn(x.shape, generator=g, dtype=x.dtype, device=x.device)\n",
    "a branch": "        return x * (0.5 if x.dtype == torch.float64 else 1.0)\n",
    "a mask beside the values": "        torch.manual_seed(7)\n        mask = torch.rand_like(x) < 0.5\n        return mask, x * 2\n",
    "numbers": "        torch.manual_seed(7)\n        return [float(row) for row in (x * torch.randn_like(x)).sum(-1)]\n",
}
#: Rounding decides most of what these give at declared precision.
NOISE = {
    "a variance": "        x = x + 3e3\n        return (x * x).mean(-1) - x.mean(-1) ** 2\n",
    "what is left of sums": "        return x.sum(-1) - x.flip(-1).cumsum(-1)[:, -1]\n",
    "a chaotic sequence": "        x = torch.sigmoid(x)\n        for _ in range(60):\n            x = 3.9 * x * (1 - x)\n        return x\n",
    "a variance far from zero": "        x = x + 1e4\n        return (x * x).mean(-1) - x.mean(-1) ** 2\n",
}


def reference(source: str, device: Device) -> tuple[Reference, list]:
    problem = Problem(source, "problem.py")
    made = Reference(problem, problem.init_inputs(SEED), SEED, device)
    inputs = problem.inputs(SEED + 1, device)
    made.first_run(inputs)
    return made, inputs


def expect(source: str, device: Device) -> Expectation:
    made, inputs = reference(source, device)
    return made.expect(inputs, NanRule.MUST_MATCH)


def on_each_device() -> list[Device]:
    devices = [Device(name) for name in DEVICES]
    for device in devices:
        device.configure(1, {"tf32": False})
    return devices


#: Angles that float32 rounds by up to 2e-4, as far as they are from zero.
ANGLES = (
    "        positions = torch.arange(x.shape[0] * 64, device=x.device).float()[::64]\n"
    "        angles = torch.outer(positions, 1.0 / 10000 ** (torch.arange(0, 256, 2, device=x.device, dtype=torch.float32) / 256))\n"
    "        return torch.cat([x[:, :128] * angles.cos(), x[:, 128:] * angles.sin()], -1)\n"
)


class Tables(unittest.TestCase):
    def expected(self, body: str) -> tuple[Expectation, torch.Tensor]:
        device = on_each_device()[0]
        made, inputs = reference(HEAD + body + NORMAL, device)
        return made.expect(inputs, NanRule.MUST_MATCH), inputs[0]

    def test_their_rounding_is_an_error_of_the_baseline(self) -> None:
        expectation, x = self.expected(ANGLES)
        positions = torch.arange(0, 64 * 64, 64, dtype=torch.float64)
        angles = torch.outer(positions, torch.exp(torch.arange(0, 256, 2, dtype=torch.float64) / 256 * -math.log(10000)))
        exact = torch.cat([x[:, :128] * angles.cos(), x[:, 128:] * angles.sin()], -1)
        self.assertEqual(compare(expectation.outputs, exact.float(), "output").mismatches, [])
        self.assertLess(float((expectation.outputs.precise - exact).abs().max()), 1e-6)
        self.assertNotEqual(compare(expectation.outputs, exact.float() * 1.01, "output").mismatches, [])

    def test_what_is_rounded_on_purpose_stays_so(self) -> None:
        for body in ("        return x.half().float() * 3\n", "        return torch.round(x * 8).to(torch.int8).float() / 8\n", "        return x.float().add(torch.zeros(256, device=x.device))\n"):
            expectation, x = self.expected(body)
            self.assertEqual(compare(expectation.outputs, expectation.outputs.baseline, "output").mismatches, [], body)
            self.assertLess(float((expectation.outputs.precise - expectation.outputs.baseline).abs().max()), 1e-6, body)


#: A weighted sum of bytes, which comes to just a half now and then.
GREY = "        return (x.float() @ torch.tensor([0.299, 0.587, 0.114], device=x.device) + 0.0).round().to(torch.uint8)\n"
BYTES = "def get_inputs():\n    return [torch.randint(0, 256, (256, 256, 3), dtype=torch.uint8)]\n"


class Roundings(unittest.TestCase):
    def test_what_is_just_a_half_may_round_to_either_side(self) -> None:
        for device in on_each_device():
            made, (x,) = reference(HEAD + GREY + BYTES, device)
            expectation = made.expect([x], NanRule.MUST_MATCH)
            thousandths = (x.long() * torch.tensor([299, 587, 114], device=x.device)).sum(-1)
            halves = thousandths % 1000 == 500
            up, down = ((thousandths + more).div(1000, rounding_mode="floor").to(torch.uint8) for more in (500, 499))
            self.assertGreater(int(halves.sum()), 16)
            self.assertTrue(any(bool((side != expectation.outputs.baseline).any()) for side in (up, down)))
            for side in (up, down):
                self.assertEqual(compare(expectation.outputs, side, "output").mismatches, [])
            wrong = torch.where(torch.arange(256, device=x.device) == 7, up + 1, up)
            self.assertNotEqual(compare(expectation.outputs, wrong, "output").mismatches, [])

    def test_what_cannot_be_run_so_is_not_asked_for(self) -> None:
        body = "        if bool((x * 1.0 != x).any()):\n            raise ValueError\n        return x.argmax(-1)\n"
        made, (x,) = reference(HEAD + body + NORMAL, on_each_device()[0])
        expected = made.expect([x], NanRule.MUST_MATCH).outputs
        self.assertEqual(list(expected.rounded()), [])
        self.assertNotEqual(compare(expected, expected.baseline + 1, "output").mismatches, [])

    def test_what_is_a_whole_number_stays(self) -> None:
        with Rounding(3):
            rows = torch.arange(64.0)
            picked = torch.randn(64, 4)[rows.long()] + 0.5
        self.assertTrue(torch.equal(rows, torch.arange(64.0)))
        self.assertEqual(picked.shape, (64, 4))

    def test_two_in_a_row_are_opposite(self) -> None:
        x = torch.rand(4096) + 0.25
        moved = []
        for seed in (4, 5):
            with Rounding(seed):
                moved.append(x * 1.5)
        apart = [(each - x * 1.5) / torch.finfo(torch.float32).eps for each in moved]
        self.assertTrue(bool((apart[0] * apart[1] <= 0).all()) and bool((apart[0] != 0).any()))
        self.assertLess(float(apart[0].abs().max()), 6)


class Sensitivity(unittest.TestCase):
    SATURATED = "        return torch.softmax(3.0 * (x[:, :128] @ x[:, 128:].T), -1) @ x\n"

    def test_another_order_of_adding_up_is_as_far_off_as_last_digits_make(self) -> None:
        for device in on_each_device():
            made, (x,) = reference(HEAD + self.SATURATED + NORMAL, device)
            baseline = made.run([x])[0]
            parts = torch.stack([x[:, at : at + 1] * x[:, at + 128 : at + 129].T for at in range(128)])
            other = torch.softmax(3.0 * parts.cumsum(0)[-1], -1) @ x
            self.assertFalse(torch.equal(other, baseline))
            self.assertTrue(made.sensitivity.is_as_sensitive([x], baseline, other))
            for wrong in (torch.zeros_like(x), x, torch.full_like(x, torch.nan), other[:, :8], baseline * 1.001):
                self.assertFalse(made.sensitivity.is_as_sensitive([x], baseline, wrong))

    def test_of_a_matrix_of_zeros_any_directions_are_right(self) -> None:
        body = "        return torch.linalg.svd(x[:64, :64].reshape(64, 8, 8)).U\n"
        for device in on_each_device():
            made, (x,) = reference(HEAD + body + NORMAL, device)
            x[:8] = 0
            baseline = made.results([x])
            outputs = baseline[0].clone()
            outputs[0] = outputs[0].flip(-1)
            self.assertTrue(made.sensitivity.is_free_there([x], baseline, [outputs, []]))
            outputs[20] = outputs[20].flip(-1)
            self.assertFalse(made.sensitivity.is_free_there([x], baseline, [outputs, []]), "the others have their own")
            self.assertFalse(made.sensitivity.is_free_there([x], baseline, baseline), "there is nothing to excuse")
            other, _inputs = reference(HEAD + "        return 2 * x\n" + NORMAL, device)
            self.assertFalse(other.sensitivity.is_free_there([x], [2 * x, []], [3 * x, []]), "it decomposes nothing")

    def test_noise_is_what_last_digits_change_by_far_or_take_away(self) -> None:
        solves = "        return torch.linalg.solve(x[:32, :8] @ x[:32, :8].T + torch.eye(32, device=x.device), x[:32, :4])\n"
        fails = "        if 0 < (x[0] - 1).abs().max() < 0.1:\n            raise ValueError('not one')\n        return 2 * x\n"
        for device in on_each_device():
            for source, factor, is_noise in ((solves, 1.0, False), (solves, 1e6, True), (fails, 0.0, True)):
                made, (x,) = reference(HEAD + source + NORMAL, device)
                given = [factor * x if factor else torch.ones_like(x)]
                self.assertEqual(made.sensitivity.is_noise(given, made.results(given)), is_noise, (source, factor))

    def test_of_what_has_saturated_any_may_be_chosen(self) -> None:
        body = "        gates = torch.softmax(400 * x[:, :16], -1)\n        picked = gates.topk(2).indices\n        return x[:, 16:32].gather(1, picked)\n"
        for device in on_each_device():
            made, (x,) = reference(HEAD + body + NORMAL, device)
            baseline = made.run([x])[0]
            gates = torch.softmax(400 * x[:, :16], -1)
            others = x[:, 16:32].gather(1, gates.flip(-1).topk(2).indices.neg() + 15)
            self.assertGreater(int((others != baseline).sum()), 16)
            self.assertTrue(made.sensitivity.is_as_sensitive([x], baseline, others))
            self.assertFalse(made.sensitivity.is_as_sensitive([x], baseline, torch.zeros_like(others) + 50))

    def test_integers_waver_where_scores_are_nearly_tied_and_nowhere_else(self) -> None:
        for device in on_each_device():
            made, (x,) = reference(HEAD + "        return (torch.log_softmax(x, -1) + 9.0).topk(4).indices\n" + NORMAL, device)
            for inputs, are_tied in (([1e-6 * x], True), ([x], False)):
                baseline = made.results(inputs)
                scores = inputs[0].double() - inputs[0].double().logsumexp(-1, keepdim=True)
                other = scores.topk(4).indices if are_tied else baseline[0].flip(-1)
                self.assertFalse(torch.equal(other, baseline[0]))
                self.assertEqual(made.sensitivity.wavers_there(inputs, baseline, [other, []]), are_tied)
                self.assertFalse(made.sensitivity.wavers_there(inputs, baseline, [other[:, :2], []]))
                self.assertFalse(made.sensitivity.wavers_there(inputs, baseline, [[other, other], []]), "there is more than was asked for")
                self.assertFalse(made.sensitivity.wavers_there(inputs, baseline, baseline), "there is nothing to excuse")

    def test_what_follows_from_integers_at_ties_may_be_as_far_off_as_they_make_it(self) -> None:
        body = "        gates = torch.softmax(400 * x[:, :16], -1)\n        chosen = gates.topk(2).indices\n        return chosen, chosen.float().mean()\n"
        for device in on_each_device():
            made, (x,) = reference(HEAD + body + NORMAL, device)
            baseline = made.results([x])
            chosen = 15 - torch.softmax(400 * x[:, :16], -1).flip(-1).sort(dim=-1, descending=True, stable=True).indices[:, :2]
            self.assertFalse(torch.equal(chosen, baseline[0][0]))
            mean = chosen.float().mean()
            self.assertTrue(made.sensitivity.wavers_there([x], baseline, [(chosen, mean), []]))
            self.assertFalse(made.sensitivity.wavers_there([x], baseline, [(chosen, mean + 50), []]), "further than ties take it")
            self.assertFalse(made.sensitivity.wavers_there([x], baseline, [(chosen, mean / 0), []]), "not a number, or none that is finite")
            self.assertFalse(made.sensitivity.wavers_there([x], baseline, [(15 - chosen, mean), []]), "other integers than ties make")

    def test_what_is_not_finite_is_so_in_the_same_way(self) -> None:
        for device in on_each_device():
            made, (x,) = reference(HEAD + "        return torch.cat([x / 0, 0 * x / 0])\n" + NORMAL, device)
            baseline = made.run([x])[0]
            self.assertTrue(made.sensitivity.is_as_sensitive([x], baseline, baseline.clone()))
            for wrong in (-baseline, torch.full_like(baseline, torch.nan), baseline.nan_to_num(nan=torch.inf)):
                self.assertFalse(made.sensitivity.is_as_sensitive([x], baseline, wrong))


#: A module that keeps what calls have had.
KEEPS = "import torch\nclass Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.register_buffer('h', torch.zeros(64, 256))\n"
SUMS_UP = KEEPS + "    def forward(self, x):\n        self.h += x\n        return self.h\n" + NORMAL
RANDOM_LATER = KEEPS + "    def forward(self, x):\n        self.h += 1\n        return x + (torch.rand_like(x) if self.h[0, 0] > 4 else 0)\n" + NORMAL
CHAOTIC = KEEPS + "    def forward(self, x):\n        self.h.copy_(torch.sigmoid(x) if self.h[0, 0] == 0 else self.h)\n        for _ in range(5):\n            self.h.copy_(3.9 * self.h * (1 - self.h))\n        return self.h\n" + NORMAL
ROUNDED = KEEPS + "    def forward(self, x):\n        self.h += x\n        return torch.round(self.h * 64).to(torch.int32)\n" + NORMAL


class Overflows(unittest.TestCase):
    def test_what_float64_gives_is_as_good_where_the_reference_overflows(self) -> None:
        for device in on_each_device():
            made, inputs = reference(HEAD + "        return torch.exp(x) / torch.exp(x).sum(-1, keepdim=True)\n" + NORMAL, device)
            large = [inputs[0] * 100]
            expectation, exact = made.expect(large, NanRule.MUST_MATCH), torch.softmax(large[0], -1)
            own = made.outputs(large)
            self.assertTrue(bool(own.isnan().any()) and bool((own == 0).any()) and bool((exact > 0).any()))
            for given, is_right in ((own, True), (exact, True), (exact.flip(0), False), (exact + 0.01, False)):
                self.assertEqual(compare(expectation.outputs, given, "output").mismatches == [], is_right)


    #: Steps towards equal sums of rows and columns: of a cost of -43 the exponential is next to the largest number, and no answer is left where it is larger.
    SCALES = "        kernel = torch.exp(-2 * x)\n        right = torch.ones_like(x[0])\n        for _ in range(8):\n            left = 1 / 64 / (kernel @ right)\n            right = 1 / 256 / (kernel.T @ left)\n        return left[:, None] * kernel * right\n"

    def test_what_a_quarter_more_takes_from_the_reference_is_asked_of_nobody_where_inputs_are_not_the_problems(self) -> None:
        for device in on_each_device():
            made, (x,) = reference(HEAD + self.SCALES + NORMAL, device)
            for largest, is_next_to_it in ((43.0, True), (20.0, False)):
                x[3, 5] = -largest
                zeros = torch.zeros_like(x)
                self.assertTrue(bool(made.outputs([x]).isfinite().all()))
                for rule, is_right in ((NanRule.NEITHER, is_next_to_it), (NanRule.FINITE, is_next_to_it), (NanRule.MUST_MATCH, False)):
                    found = compare(made.expect([x], rule).outputs, zeros, "output").mismatches
                    self.assertEqual(found == [], is_right, (largest, rule, found))

    def test_where_float64_has_no_answer_for_a_quarter_more_the_reference_has_one(self) -> None:
        for device in on_each_device():
            made, (x,) = reference(HEAD + "        return torch.log1p(-x)\ndef get_inputs():\n    return [torch.rand(64, 256) * 0.1 + 0.85]\n", device)
            self.assertTrue(bool(made.outputs([1.25 * x]).isnan().all()))
            self.assertNotEqual(compare(made.expect([x], NanRule.FINITE).outputs, torch.zeros_like(x), "output").mismatches, [])


class CallsInARow(unittest.TestCase):
    def expected(self, source: str, device: Device) -> tuple[list[Expectation], list[torch.Tensor]]:
        made, inputs = reference(source, device)
        calls = [[torch.randn(64, 256, device=device.torch)] for _ in range(12)]
        return made.expect_in_a_row(calls), [call[0] for call in calls]

    def test_each_call_has_what_it_gave_when_it_was_made(self) -> None:
        for device in on_each_device():
            expectations, calls = self.expected(SUMS_UP, device)
            self.assertEqual(len(expectations), 12)
            for number, expectation in enumerate(expectations, 1):
                total = torch.stack(calls[:number]).sum(0)
                self.assertEqual(compare(expectation.outputs, total, "output").mismatches, [])
                self.assertNotEqual(compare(expectation.outputs, total + 0.01, "output").mismatches, [])

    def test_it_ends_where_there_is_nothing_to_go_by(self) -> None:
        for device in on_each_device():
            self.assertEqual(len(self.expected(RANDOM_LATER, device)[0]), 4)
            self.assertIn(len(self.expected(CHAOTIC, device)[0]), range(1, 12))

    def test_last_digits_of_all_calls_are_changed_for_results_nearby(self) -> None:
        made, _inputs = reference(ROUNDED, on_each_device()[0])
        calls = [[torch.full((64, 256), value)] for value in (1.0, 1 / 128)]
        for moved in (made.sensitivity.nearby(*calls), made.sensitivity.rounded(*calls)):
            self.assertEqual({int(value) for outputs, _written in moved for value in outputs.unique()}, {64, 65}, "the second call comes to just a half")
        self.assertEqual(len(made.expect_in_a_row(calls)), 1)


class Modes(unittest.TestCase):
    NORM = (
        "import torch\nclass Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.norm = torch.nn.BatchNorm1d(256)\n    def forward(self, x):\n        return self.norm(x)\n" + NORMAL
    )

    def test_outputs_of_training_mode_are_known_as_such(self) -> None:
        for device in on_each_device():
            made, (x,) = reference(self.NORM, device)
            of_the_batch = (x - x.mean(0)) / (x.var(0, correction=0) + 1e-5).sqrt()
            before = made.run([x])[0]
            self.assertTrue(made.in_training_gives([x], of_the_batch))
            self.assertFalse(made.in_training_gives([x], x))
            self.assertTrue(torch.equal(made.run([x])[0], before), "the module is in eval mode still, with its own statistics")

    def test_a_module_without_statistics_is_not_run_again(self) -> None:
        for device in on_each_device():
            made, (x,) = reference(HEAD + "        return torch.nn.functional.dropout(x, training=self.training)\n" + NORMAL, device)
            self.assertFalse(made.in_training_gives([x], x))


class DoubleRuns(unittest.TestCase):
    def test_one_that_is_another_function_is_not_believed(self) -> None:
        for device in on_each_device():
            for name, body in OTHERS.items():
                for cast in ("float32", "float16", "bfloat16"):
                    with self.subTest(name, cast=cast, device=str(device.torch)):
                        expectation = expect(HEAD + body + NORMAL.replace("256)", f"256).to(torch.{cast})"), device)
                        outputs = expectation.outputs
                        self.assertFalse(expectation.double)
                        self.assertIs(outputs.precise, outputs.baseline)
                        self.assertEqual(compare(outputs, outputs.baseline, "output").mismatches, [])
            outputs = expect(HEAD + OTHERS["a seeded mask"] + NORMAL, device).outputs
            self.assertNotEqual(compare(outputs, torch.zeros_like(outputs.baseline), "output").mismatches, [])

    def test_one_that_shows_how_much_is_rounding_is(self) -> None:
        for device in on_each_device():
            for name, body in NOISE.items():
                with self.subTest(name, device=str(device.torch)):
                    expectation = expect(HEAD + body + NORMAL, device)
                    outputs = expectation.outputs
                    self.assertTrue(expectation.double)
                    error = (outputs.baseline.double() - outputs.precise.double()).abs().mean()
                    self.assertGreater(float(error), 0.01 * float(outputs.precise.double().square().mean().sqrt()))
                    self.assertEqual(compare(outputs, outputs.precise.to(outputs.baseline.dtype), "output").mismatches, [])
                    # As far off as the reference itself, to the other side.
                    other = (2 * outputs.precise.double() - outputs.baseline.double()).to(outputs.baseline.dtype)
                    self.assertEqual(compare(outputs, other, "output").mismatches, [])

    def test_how_far_both_runs_are_apart_is_found_once(self) -> None:
        for device in on_each_device():
            outputs = expect(HEAD + "        return x.exp(), float(x.sum()), {'mean': x.mean(-1)}, x.argmax(-1), x.to(torch.complex64)\n" + NORMAL, device).outputs
            floating = [outputs.precise[0], outputs.precise[2]["mean"], outputs.precise[4]]
            pairs = zip(floating, [outputs.baseline[0], outputs.baseline[2]["mean"], outputs.baseline[4]])
            known = [outputs.distances.get(id(precise)) for precise in floating]
            self.assertEqual(known, [Distance.between(real_parts(precise), real_parts(baseline)) for precise, baseline in pairs])
            self.assertEqual(len(outputs.distances), len([*floating, "the index"]))
            self.assertEqual(compare(outputs, outputs.baseline, "output").mismatches, [])

    def test_low_precision_is_no_other_function(self) -> None:
        chain = "        for step in range(24):\n            x = torch.nn.functional.silu(x) * 1.3 + x.mean(-1, keepdim=True)\n        return x\n"
        for device in on_each_device():
            for cast in ("float16", "bfloat16"):
                expectation = expect(HEAD + chain + NORMAL.replace("256)", f"256).to(torch.{cast})"), device)
                self.assertTrue(expectation.double, cast)
                precise = expectation.outputs.precise
                self.assertEqual(compare(expectation.outputs, precise.to(getattr(torch, cast)), "output").mismatches, [])

    def test_eight_bit_floats_are_expected_and_compared(self) -> None:
        for device in on_each_device():
            outputs = expect(HEAD + "        return x.to(torch.float8_e4m3fn), x.abs().amax()\n" + NORMAL, device).outputs
            self.assertEqual(compare(outputs, outputs.baseline, "output").mismatches, [])
            made, inputs = reference(HEAD + "        return x.float() * 2\n" + NORMAL.replace("256)", "256).to(torch.float8_e5m2)"), device)
            outputs = made.expect(inputs, NanRule.MUST_MATCH, double=False).outputs
            self.assertEqual(compare(outputs, outputs.baseline, "output").mismatches, [])


if __name__ == "__main__":
    unittest.main()
