"""What passes, what does not, and what is said of it."""

from __future__ import annotations

import dataclasses
import unittest
from typing import Any

from support import DEVICES

import torch

from kernelwright_worker import tolerance
from kernelwright_worker.compare import compare
from kernelwright_worker.comparison import Comparison
from kernelwright_worker.expected import Expected, NanRule
from kernelwright_worker.tolerance import Precision, Scale

NAN, INF = float("nan"), float("inf")


class Cases(unittest.TestCase):
    def check(self, expected: object, actual: object, detail: str | None, *, precise: object = None, nan: NanRule = NanRule.MUST_MATCH) -> None:
        """`detail` is None for a pass, else what the only mismatch says."""
        for device in DEVICES:
            move = lambda value: value.to(device) if isinstance(value, torch.Tensor) else value  # noqa: E731
            b = move(expected)
            e = b if precise is None else move(precise)
            result = compare(Expected(b, e, nan), move(actual), "output")
            details = [item["detail"] for item in result.mismatches]
            if detail is None:
                self.assertEqual(details, [])
                self.assertLessEqual(result.worst, 1)
            else:
                self.assertEqual(len(details), 1)
                self.assertIn(detail, details[0])


def noise(like: torch.Tensor, part: float) -> torch.Tensor:
    return like + part * like.square().mean().sqrt() * torch.randn(like.shape, generator=torch.Generator().manual_seed(1)).clamp(-2, 2) / 2


def rounded(tensor: torch.Tensor, bits: int) -> torch.Tensor:
    """With so many bits behind the first one."""
    half = 1 << (22 - bits)
    return ((tensor.contiguous().view(torch.int32) + half) & ~(2 * half - 1)).view(torch.float32)


class Excused(unittest.TestCase):
    def test_what_is_excused_is_no_error_at_the_limit(self) -> None:
        steps = torch.arange(4096.0)
        other = steps.clone()
        other[7] += 1
        excused, refused = (compare(Expected(steps, steps, precision=Precision.FULL, nearby=nearby), other, "output") for nearby in (lambda: [steps, other], tuple))
        self.assertEqual((excused.mismatches, excused.worst), ([], 0.0))
        self.assertTrue(refused.mismatches and refused.worst > 1)


class Numbers(unittest.TestCase):
    def test_a_number_of_pythons_stands_for_one_of_numpys_of_its_kind(self) -> None:
        three, seven, true = torch.tensor(3.0, dtype=torch.float64), torch.tensor(7, dtype=torch.int16), torch.tensor(True)
        pairs = (
            *((three, 3.0, True), (three, 3.1, False), (three, 3, False), (torch.ones(1), 1.0, False), (torch.tensor(2 + 1j), 2 + 1j, True)),
            *((seven, 7, True), (seven, 8, False), (seven, 7.0, False), (seven, 1 << 20, False), (seven, True, False)),
            *((true, True, True), (true, False, False), (true, 1, False)),
        )
        for expected, given, is_right in pairs:
            for admits in (True, False):
                found = compare(Expected(expected, expected, admits_numbers=admits), given, "output").mismatches
                self.assertEqual(found == [], is_right and admits, (expected, given, admits))


class Floats(Cases):
    def setUp(self) -> None:
        torch.manual_seed(0)
        self.x = torch.randn(64, 96)

    def test_rounding_as_of_tf32_passes_and_a_silent_cast_does_not(self) -> None:
        self.check(self.x, noise(self.x, 4e-4), None)
        self.check(self.x, self.x.bfloat16().float(), "elements differ")
        self.check(self.x.bfloat16(), (self.x * 1.005).bfloat16(), None)
        self.check(self.x.half(), (self.x * 1.001).half(), None)
        self.check(self.x.double(), self.x.float().double() * (1 + 1e-6), "elements differ")

    def test_products_of_ten_bits_pass_where_columns_differ_in_size_and_those_of_seven_do_not(self) -> None:
        # Products of few terms, some of them equal, as in a `structured` draw.
        for rows, terms in ((1024, 64), (2048, 16)):
            a, b = torch.randn(rows, terms), torch.randn(terms, rows)
            b[: terms // 4] = b[0].clone()
            b[:, 0] *= 3
            exact = a.double() @ b.double()

            def wrong(bits: int) -> list:
                product = rounded(a, bits) @ rounded(b, bits)
                return compare(Expected(a @ b, exact), product, "output").mismatches

            self.assertEqual(wrong(10), [])
            self.assertIn("elements differ", wrong(7)[0]["detail"])
            # As few that are further off than that are not for rounding.
            for off, passes in ((1.5, True), (4.0, False)):
                lost = (a @ b).clone()
                lost[5, 7] += off * 2.2e-3 * (exact.abs().mean() + exact[5, 7].abs())
                self.assertEqual(not compare(Expected(a @ b, exact), lost, "output").mismatches, passes)
                self.assertTrue(compare(Expected(a @ b, exact, precision=Precision.FULL), lost, "output").mismatches)

    def test_the_tolerance_follows_the_scale(self) -> None:
        tiny = self.x * 1e-3
        self.check(tiny, torch.zeros_like(tiny), "they are zero")
        self.check(tiny * 1e-20, noise(tiny * 1e-20, 4e-4), None)
        self.check(torch.zeros(8), torch.zeros(8), None)
        self.check(torch.zeros(8), torch.full((8,), 1e-30), "elements differ")

    def test_what_vanishes_has_few_digits_left_or_none(self) -> None:
        product = torch.tensor(5.46506e-44)
        for other in (torch.tensor(5.32493e-44), torch.tensor(0.0)):
            self.check(product, other, None)
        self.check(product, torch.tensor(1e-30), "expected 5.46506e-44")
        self.check(torch.full((8,), 3e-7).half(), torch.full((8,), 4e-7).half(), None)
        self.check(torch.full((8,), 3e-6).half(), torch.zeros(8).half(), "they are zero")

    def test_more_may_be_allowed_than_the_dtype_holds(self) -> None:
        for dtype in (torch.bfloat16, torch.float32):
            huge = torch.full((8,), 3e38).to(dtype)
            self.check(huge, huge, None, precise=torch.full((8,), 2e38))

    def test_the_baselines_own_error_counts(self) -> None:
        noisy = noise(self.x, 5e-3)
        self.check(noisy, noise(noisy, 5e-3), None, precise=self.x)
        self.check(noisy, torch.zeros_like(noisy), "they are zero", precise=self.x)
        # What is mostly noise may be off by more than a tenth only where that is known to be rounding.
        half_noise = noise(self.x, 0.5)
        self.check(half_noise, noise(half_noise, 0.5), "elements differ", precise=self.x)
        self.assertEqual(compare(Expected(half_noise, self.x, noisy=True), noise(half_noise, 0.5), "output").mismatches, [])
        # One element on which rounding decides does not open the door for the others.
        rounded = self.x.clone()
        rounded[0, 0] = 50.0
        self.check(rounded, self.x, None, precise=self.x)
        self.check(rounded, rounded, None, precise=self.x)
        self.check(rounded, self.x + 0.5, "elements differ", precise=self.x)

    def test_values_that_round_to_a_neighbour_excuse_as_few_others(self) -> None:
        exact = torch.round(torch.randn(200, 200, generator=torch.Generator().manual_seed(2)) / 0.01) * 0.01
        flipped = exact.clone()
        flipped.view(-1)[:3] += 0.01
        others = exact.clone()
        others.view(-1)[100:115] -= 0.01
        self.check(flipped, others, None, precise=exact)
        others.view(-1)[200:240] -= 0.01
        self.check(flipped, others, "55 of 40000 values are off by more than rounding does; of the reference's own only 3 are", precise=exact)

    def test_values_far_below_a_few_others_count_where_they_are_most(self) -> None:
        x = torch.randn(4096, generator=torch.Generator().manual_seed(2))
        exact = torch.exp(8 * x.double())

        def judged(actual: torch.Tensor, baseline: torch.Tensor = torch.exp(8 * x), **options: Any) -> list:
            settings = {"precision": Precision.FULL, "looks_at_small": True, **options}
            return compare(Expected(baseline, exact.float(), **settings), actual, "output").mismatches

        cut = torch.where(x > 1, torch.exp(8 * x), 0.0)
        self.assertIn("values that are small beside the others", judged(cut)[0]["detail"])
        self.assertTrue(judged(torch.where(x > 1, torch.exp(8 * x), float("nan"))))
        self.assertFalse(judged(torch.exp(8 * x) * (1 + 0.3 * torch.randn(4096).clamp(-1, 1) * (x < 1))))
        self.assertFalse(judged(torch.exp2(x * 11.541560327111707)))
        # Other draws, ten bits, and values that the reference does not have itself.
        self.assertFalse(judged(cut, looks_at_small=False))
        self.assertFalse(judged(cut, precision=Precision.TF32))
        self.assertFalse(judged(cut, baseline=torch.exp(8 * x) * (1 + 0.1 * (x < 1))))

    def test_values_beside_the_numbers_of_a_mask_count(self) -> None:
        x = torch.randn(64, 64)
        mask = torch.rand(64, 64) < 0.8
        least = torch.finfo(torch.float32).min
        baseline = x.masked_fill(mask, least)
        expected = Expected(baseline, baseline.clone(), precision=Precision.FULL, looks_at_small=True)
        self.assertFalse(compare(expected, (x * (1 + 1e-5)).masked_fill(mask, least), "output").mismatches)
        half = torch.where(torch.arange(64) < 32, baseline, baseline.where(mask, 0.0))
        # Beside the numbers of the mask both are within tolerance.
        for wrong in (baseline.where(mask, 0.0), half):
            self.assertIn("values that are small beside the others", str(compare(expected, wrong, "output").mismatches))

    def test_errors_that_are_small_enough_hold_nothing_isolated(self) -> None:
        exact = torch.randn(4096, generator=torch.Generator().manual_seed(2)) * 1e-3
        flipped = exact * (1 + 1e-7)
        flipped[7] += 1e-4
        scale = Scale.of(exact, flipped, Precision.FULL, noisy=False)
        self.assertTrue(scale.has_isolated)
        seen = set()
        for part in (0.5, 0.99, 1.01, 2.0):
            actual = exact.double() + part * scale.everyday
            largest = float(scale.ratio(actual, exact.double()).max())
            isolated = bool(scale.is_isolated(actual, exact.double()).any())
            self.assertTrue(scale.may_hold_isolated(largest) or not isolated)
            seen.add((scale.may_hold_isolated(largest), isolated))
        self.assertEqual(seen, {(False, False), (True, True)})

    def test_a_few_values_may_round_as_those_of_inputs_nearby(self) -> None:
        baseline = torch.round(torch.randn(64, 64, generator=torch.Generator().manual_seed(3)) / 0.01) * 0.01
        flipped, near = baseline.clone(), baseline.clone()
        flipped[3, 4] += 0.01
        near[3, 4] += 0.01
        nearby = Expected(baseline, baseline, precision=Precision.FULL, nearby=lambda: [baseline, near])
        self.assertFalse(compare(nearby, flipped, "output").mismatches)
        flipped[5, 6] += 0.01
        self.assertIn("1 of 4096 elements", compare(Expected(baseline, baseline, precision=Precision.FULL, nearby=lambda: [near]), flipped, "output").mismatches[0]["detail"])

    def test_where_two_are_nearly_tied_any_mixture_of_both_may_come_out(self) -> None:
        exact = 1 + torch.rand(32768, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
        baseline, near, mixed, elsewhere = (exact.float() for _ in range(4))
        baseline[5] += 0.01
        near[100:116] += 0.006
        mixed[100:116] += 0.003
        elsewhere[200:216] += 0.003
        expected = Expected(baseline, exact, precision=Precision.FULL, nearby=lambda: [near])
        self.assertFalse(compare(expected, mixed, "output").mismatches)
        self.assertIn("16 of 32768 values are off", compare(expected, elsewhere, "output").mismatches[0]["detail"], "where nothing decides that")

    def test_a_few_values_may_be_as_far_off_as_inputs_nearby_move_them(self) -> None:
        inverses = torch.randn(50, 4, generator=torch.Generator().manual_seed(3))
        inverses[6, 1] = -5195.3
        near, given, elsewhere = (inverses.clone() for _ in range(3))
        near[6, 1], given[6, 1], elsewhere[7, 1] = -5190.0, -5198.0, inverses[7, 1] + 2.0
        expected = Expected(inverses, inverses, precision=Precision.FULL, nearby=lambda: [near])
        self.assertFalse(compare(expected, given, "output").mismatches)
        self.assertTrue(compare(expected, elsewhere, "output").mismatches, "another one that nothing moves")
        given[6, 1] = -5202.0
        self.assertTrue(compare(expected, given, "output").mismatches, "further")

    def test_an_output_that_cancels_is_as_large_as_it_was_before(self) -> None:
        small = torch.tensor(1e-3)
        expected = Expected(small, small, precision=Precision.FULL)
        self.assertTrue(compare(expected, torch.tensor(1.004e-3), "output").mismatches)
        self.assertFalse(compare(Expected(small, small, precision=Precision.FULL, floors={"output": 0.01}), torch.tensor(1.004e-3), "output").mismatches)

    def test_an_index_that_a_nan_decides_is_no_answer(self) -> None:
        baseline, without = torch.tensor([3, 1, 2]), torch.tensor([0, 1, 2])
        expected = Expected(baseline, baseline, NanRule.ANYTHING, without_nan=lambda _infinite: [without])
        self.assertFalse(compare(expected, torch.tensor([7, 1, 2]), "output").mismatches)
        self.assertTrue(compare(expected, torch.tensor([3, 1, 0]), "output").mismatches)

    def test_values_are_chosen_without_a_nan_as_well(self) -> None:
        asked = []

        def without(infinite: bool) -> list[torch.Tensor]:
            asked.append(infinite)
            return [torch.tensor([5.0, 4.0, 3.0])]

        baseline = torch.tensor([NAN, 5.0, 4.0])
        expected = Expected(baseline, baseline, NanRule.ANYTHING, without_nan=without)
        self.assertFalse(compare(expected, torch.tensor([5.0, 4.0, 3.0]), "output").mismatches)
        self.assertTrue(compare(expected, torch.tensor([5.0, 4.0, 2.0]), "output").mismatches)
        self.assertTrue(compare(Expected(baseline, baseline, without_nan=without), torch.tensor([5.0, 4.0, 3.0]), "output").mismatches)
        self.assertEqual(asked, [False, False])

    def test_a_nan_that_another_value_decides_is_not_to_be_lost(self) -> None:
        baseline = torch.tensor([NAN, NAN, NAN, 4.0])
        # A selection, a product with zero, and a quotient of infinities.
        runs = [torch.tensor([0.0, 3.0, NAN, 4.0]), torch.tensor([8.0, 3.0, NAN, 4.0])]
        expected = Expected(baseline, baseline, NanRule.ANYTHING, without_nan=lambda _infinite: runs, keeps_nan=True)
        self.assertFalse(compare(expected, torch.tensor([NAN, 3.0, 1.0, 4.0]), "output").mismatches)
        (mismatch,) = compare(expected, torch.tensor([0.0, 3.0, 1.0, 4.0]), "output").mismatches
        self.assertEqual(mismatch["detail"], "value 0 at [0], expected nan; 1 of 4 elements differ, a NaN is lost, as by fmaxf, tl.maximum and comparisons")
        self.assertTrue(compare(expected, torch.tensor([0.0, 3.0, 1.0, 5.0]), "output").mismatches, "and another value")
        self.assertFalse(compare(dataclasses.replace(expected, keeps_nan=False), torch.tensor([0.0, 3.0, 1.0, 4.0]), "output").mismatches)

    def test_a_nan_that_the_reference_looks_for_is_not_to_be_let_through(self) -> None:
        baseline = torch.tensor([[2.0, 1.0], [3.0, 1.0], [3.0, 1.0], [3.0, 1.0]])
        runs = [baseline + torch.tensor([[value, 0.0], *[[0.0, 0.0]] * 3]) for value in (0.0, 4.0)]
        expected = Expected(baseline, baseline, NanRule.ANYTHING, without_nan=lambda _infinite: runs, keeps_nan=True)
        through, carried = baseline.clone(), baseline.clone()
        through[0, 0], carried[0, 1] = NAN, NAN
        self.assertTrue(compare(expected, through, "output").mismatches, "a mean of all that is a number")
        self.assertFalse(compare(expected, carried, "output").mismatches, "a transform")

    def test_values_that_are_not_finite_match_by_position(self) -> None:
        b = torch.tensor([1.0, NAN, INF, -INF, 2.0])
        self.check(b, b.clone(), None)
        for wrong in ([1.0, 0.0, INF, -INF, 2.0], [1.0, NAN, -INF, -INF, 2.0], [1.0, NAN, 3.0, -INF, 2.0], [NAN, NAN, INF, -INF, 2.0], [INF, NAN, INF, -INF, 2]):
            self.check(b, torch.tensor(wrong), "1 of 5 elements differ")
        self.check(b, torch.tensor([1.0, 7.0, INF, -INF, 2.0]), None, nan=NanRule.ANYTHING)
        self.check(b, torch.tensor([1.0, 7.0, 8.0, -INF, 2.0]), "expected inf", nan=NanRule.ANYTHING)
        self.check(b, torch.tensor([1.0, INF, 8.0, -INF, 2.0]), None, nan=NanRule.NEITHER)
        self.check(b, torch.tensor([1.0, 7.0, 8.0, INF, 2.0]), "expected -inf", nan=NanRule.NEITHER)
        overflowed = torch.tensor([1.0, INF], dtype=torch.float16)
        self.check(overflowed, torch.tensor([1.0, 65504.0], dtype=torch.float16), None, precise=torch.tensor([1.0, 7e4]))

    def test_a_finite_value_is_as_good_where_only_other_draws_overflow(self) -> None:
        b = torch.tensor([1.0, INF, NAN, 2.0])
        self.check(b, torch.tensor([1.0, 90.0, 1.0, 2.0]), None, nan=NanRule.FINITE)
        self.check(b, torch.tensor([INF, 90.0, 1.0, 2.0]), "1 of 4", nan=NanRule.FINITE)
        self.check(b, torch.tensor([1.0, NAN, 1.0, 2.0]), "1 of 4", nan=NanRule.FINITE)
        near = torch.tensor([1.0, 3.4e38, -1e34, 1e27])
        self.check(near, torch.tensor([1.0, INF, NAN, 1e27]), None, nan=NanRule.FINITE)
        self.check(near, torch.tensor([1.0, 3.4e38, -1e34, INF]), "1 of 4", nan=NanRule.FINITE)
        self.check(near, torch.tensor([1.0, INF, -1e34, 1e27]), "1 of 4")
        self.check(torch.tensor([1.0, 8.0]).half(), torch.tensor([1.0, INF]).half(), "1 of 2", nan=NanRule.FINITE)

    def test_an_infinity_that_rounding_decides_is_that_of_float64_or_of_inputs_nearby(self) -> None:
        b, other = torch.tensor([1.0, -0.4, 2.0]), torch.tensor([1.0, -INF, 2.0])
        self.check(b, other, None, precise=other)
        self.check(b, other, "1 of 3")
        self.assertFalse(compare(Expected(b, b, nearby=lambda: [b, other]), other, "output").mismatches)

    def test_what_is_not_finite_may_spread_in_a_special_draw(self) -> None:
        b = self.x.clone()
        b[-2, 0], b[-1, -1], b[-1, 0] = NAN, INF, -INF

        def changed(value: float, *where: object, like: torch.Tensor = b) -> torch.Tensor:
            copy = like.clone()
            copy[where] = value
            return copy

        for spread in (changed(NAN, slice(60, None)), changed(NAN, slice(32, None)), changed(INF, -3), changed(NAN, -1, -1)):
            self.check(b, spread, None, nan=NanRule.ANYTHING)
            self.check(b, spread, "elements differ")
        # The finite rest has to be right, whatever is next to it, and so have the places of an inf.
        self.check(b, changed(0.0, 0, slice(4), like=changed(NAN, slice(60, None))), "4 of 6144 elements differ", nan=NanRule.ANYTHING)
        self.check(b, changed(-INF, -1, -1), "1 of 6144 elements differ", nan=NanRule.ANYTHING)
        self.check(b, changed(7.0, -1, -1), "1 of 6144 elements differ", nan=NanRule.ANYTHING)
        # What has spread over most of an output leaves too little to be judged.
        self.check(b, torch.full_like(b, NAN), "elements differ", nan=NanRule.ANYTHING)
        self.check(b, changed(NAN, slice(20, None)), "they are NaN, all in rows >= 20", nan=NanRule.ANYTHING)
        self.check(torch.tensor(1.0), torch.tensor(NAN), "value nan", nan=NanRule.ANYTHING)
        self.check(torch.complex(b, b), torch.complex(changed(NAN, -1), b), None, nan=NanRule.ANYTHING)

    def test_what_a_nan_decides_says_nothing_where_another_draw_takes_its_place(self) -> None:
        b = self.x.clone()
        b[-2, 0], b[-1, -1] = NAN, INF
        codes = torch.arange(6144).view(64, 96) % 7

        def found(values: torch.Tensor, integers: torch.Tensor = codes, **rules: object) -> Comparison:
            return compare(Expected((b, codes), (b, codes), NanRule.ANYTHING, is_replaceable=True, **rules), (values, integers), "output")

        everywhere = found(torch.full_like(b, NAN))
        self.assertEqual((everywhere.mismatches, everywhere.mistakes_nan), ([], False))
        self.assertIn("reach most of its outputs", everywhere.says_nothing)
        self.assertIn("decide what is chosen", found(b, codes + (codes == 3)).says_nothing)
        self.assertIsNone(found(b).says_nothing)
        # Finite values beside few others are an answer, and so is a NaN that was lost.
        self.assertIn("4 of 6144", str(found(torch.where(torch.arange(96) < 4, 0.0, b).where(torch.arange(64)[:, None] == 0, b)).mismatches))
        with_number = lambda infinite: [(torch.full_like(b, value), codes) for value in (0.0, 8.0)]  # noqa: E731
        lost = found(b.nan_to_num(nan=0.0, posinf=INF), codes + (codes == 3), keeps_nan=True, without_nan=with_number)
        self.assertTrue(lost.mistakes_nan and lost.mismatches)

    def test_no_more_integers_may_differ_than_where_operators_round_otherwise(self) -> None:
        at = torch.arange(4096)
        b = at % 50

        def found(end: int, *rounded: int) -> str:
            expected = Expected(b, b, rounded=lambda: [b + (at < count) for count in rounded])
            return str(compare(expected, b + (at < end), "output").mismatches)

        self.assertIn("60 of 4096", found(60))
        self.assertEqual(found(60, 0, 60), "[]")
        self.assertEqual(found(60, 0, 0, 0, 15, 60), "[]")
        self.assertIn("60 of 4096", found(60, 0, 0, 0, 14, 60), "more than four times as many")
        self.assertIn("21 of 4096", found(60, 39, 39), "not these")
        self.assertIn("90 of 4096", found(90, 90, 90), "too many to be rounding")

    def test_eight_bit_floats_compare(self) -> None:
        for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
            b = self.x.to(dtype)
            self.check(b, b.clone(), None)
            self.check(b, b.clone(), None, precise=self.x)
            self.check(b, (self.x * 1.01).to(dtype), None)
            self.check(b, (self.x + 3).to(dtype), "elements differ")
            self.check(b, torch.zeros(64, 96).to(dtype), "they are zero", precise=self.x)
            self.check(b, torch.full((64, 96), NAN).to(dtype), "they are NaN")

    def test_unsigned_integers_compare(self) -> None:
        for dtype in (torch.uint16, torch.uint32, torch.uint64):
            b = torch.arange(64).to(dtype)
            self.check(b, b.clone(), None)
            self.check(b, (torch.arange(64) + 3).to(dtype), "they are off by about 3")

    def test_complex_values_and_scalars_compare(self) -> None:
        c = torch.randn(16, dtype=torch.complex64)
        self.check(c, c * (1 + 1e-5), None)
        self.check(c, c.conj().resolve_conj(), "16 elements differ")
        self.check(1.5, 1.5001, None)
        self.check(1.5, 1.6, "value 1.6, expected 1.5")
        self.check(1.5, NAN, "value nan")
        self.check(torch.tensor(2.0), torch.tensor(2.1), "value 2.1, expected 2")
        self.check(torch.empty(0, 3), torch.empty(0, 3), None)

    def test_integers_that_are_others_in_every_run_may_be_any(self) -> None:
        steps = torch.full((64, 64), 64, dtype=torch.int32)
        actual = steps.clone()
        actual[3, 5] = 41

        def runs(*numbers: int) -> list[torch.Tensor]:
            made = [steps.clone() for _ in numbers]
            for run, number in zip(made, numbers):
                run[3, 5] = number
            return made

        for dtype in (torch.int32, torch.uint16):
            for numbers, mismatches in (((40, 42, 43), 0), ((40, 42, 40, 42), 1), ((64, 64, 64), 1)):
                expected = Expected(steps.to(dtype), steps.to(dtype), nearby=lambda numbers=numbers, dtype=dtype: [run.to(dtype) for run in runs(*numbers)])
                for given in (actual.to(dtype), actual.to(dtype).t().contiguous().t()):
                    self.assertEqual(len(compare(expected, given, "output").mismatches), mismatches, (dtype, numbers))
        laid_out = steps.t().contiguous().t()
        expected = Expected(laid_out, laid_out, nearby=lambda: [run.t().contiguous().t() for run in runs(40, 42, 43)])
        self.assertFalse(compare(expected, actual.t().contiguous().t(), "output").mismatches)

    def test_details_name_the_pattern(self) -> None:
        def changed(index: object, value: object) -> torch.Tensor:
            copy = self.x.clone()
            copy[index] = value
            return copy

        self.check(self.x, changed(slice(48, None), 9.0), "1536 of 6144 elements differ, they all are 9, all in rows >= 48")
        self.check(self.x, changed((slice(None), slice(0, 96, 4)), NAN), "they are NaN, all in every 4th of columns from 0")
        self.check(self.x, changed(5, 0.0), "all in rows = 5")
        # A single one is named already, and two are always some steps apart.
        for few, said in (([5], "1 of 6144 elements differ"), ([5, 25], "2 of 6144 elements differ, all in columns = 7")):
            (mismatch,) = compare(Expected(self.x, self.x, NanRule.MUST_MATCH), changed((few, 7), 9.0), "output").mismatches
            self.assertTrue(mismatch["detail"].endswith(said), mismatch)
        self.check(self.x, self.x * 2, "they are about 2 times the expected values")
        self.check(self.x, self.x + 3, "they are off by about 3")
        slightly = torch.full((64, 96), 2.0) * torch.linspace(0.99, 1.012, 96)
        found = compare(Expected(torch.full((64, 96), 2.0), torch.full((64, 96), 2.0)), slightly, "output").mismatches
        self.assertNotIn("times", found[0]["detail"])
        square = self.x[:, :64].contiguous()
        self.check(square, square.t().contiguous(), "the output looks transposed")
        poison = torch.full((64, 96 * 4), 0x44, dtype=torch.uint8).view(torch.float32)
        self.check(self.x, poison, "memory that was never written")
        self.check(self.x, changed((3, 17), 0.123), "value 0.123 at [3, 17], expected")


class Forms(Cases):
    def test_form_dtype_and_shape_have_to_match(self) -> None:
        x = torch.ones(2, 3)
        for actual, detail in (
            (x.double(), "dtype float64, expected float32"),
            (x.t(), "shape [3, 2], expected [2, 3]"),
            ((x,), "tuple of 1, expected a tensor float32[2, 3]"),
            (None, "None, expected"),
        ):
            self.check(x, actual, detail)
        self.check({"a": 1}, {"b": 1}, "dict with keys ['b'], expected dict with keys ['a']")
        self.check([1, 2], [1], "list of 1, expected list of 2")
        self.check([1, "x"], [1, "y"], "expected str 'x'")
        self.check(1, True, "bool True, expected int 1")
        self.check({"a": 1, "b": None}, {"b": None, "a": 1}, None)
        self.check((1, 2), [1, 2], None)

    def test_elements_have_memory_of_their_own_where_the_reference_s_have(self) -> None:
        row, windows = torch.arange(6.0), torch.arange(9.0).unfold(0, 4, 1)
        self.check(row.repeat(4, 1), row.expand(4, 6), "elements that share memory")
        self.check(windows.contiguous(), windows, "elements that share memory")
        self.check(row.expand(4, 6), row.expand(4, 6), None)
        self.check(torch.ones(3, 2), torch.ones(2, 3).t(), None)

    def test_integers_and_bools_are_exact(self) -> None:
        i = torch.tensor([2**60, 2])
        self.check(i, i.clone(), None)
        self.check(i, i + torch.tensor([1, 0]), "1 of 2 elements differ")
        flags = torch.tensor([True, True])
        self.check(flags, torch.tensor([0x44, 1], dtype=torch.uint8).view(torch.bool), "1 of 2 elements differ")

    def test_a_few_integers_may_be_those_for_inputs_nearby(self) -> None:
        def mismatches(actual: torch.Tensor) -> list[dict[str, object]]:
            nearby = lambda: ({"at": (None, indices + other)} for other in (torch.tensor([0, 1, 0, 0]), torch.tensor([0, 0, 5, 1])))  # noqa: E731
            baseline = {"at": (None, indices)}
            return compare(Expected(baseline, baseline, nearby=nearby), {"at": (None, actual)}, "output").mismatches

        indices = torch.tensor([3, 7, 1, 2])
        self.assertEqual(mismatches(torch.tensor([3, 8, 6, 2])), [])
        self.assertIn("1 of 4", str(mismatches(torch.tensor([3, 9, 6, 2]))))
        # What a NaN decides is taken out first.
        many = torch.arange(300_000)
        decided = torch.where(many < 500, many + 1, many)
        expected = Expected(many, many, NanRule.ANYTHING, nearby=lambda: [many + (many == 600)], without_nan=lambda _infinite: [decided])
        self.assertEqual(compare(expected, decided + (many == 600), "output").mismatches, [])
        # Each of these could be right by itself; so many are not by chance.
        self.assertIn("3 of 4", str(mismatches(torch.tensor([3, 8, 6, 3]))))


class Distances(unittest.TestCase):
    def test_to_measure_how_far_apart_values_are_changes_none_of_them(self) -> None:
        baseline = torch.linspace(1, 2, 100, dtype=torch.float64)
        kept = baseline.clone()
        self.assertGreater(tolerance.Distance.between(baseline + 1e-3, baseline).worst, 9e-4)
        self.assertTrue(torch.equal(baseline, kept))


if __name__ == "__main__":
    unittest.main()
