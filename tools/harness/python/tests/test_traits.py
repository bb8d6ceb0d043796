"""What two draws show of inputs, and the draws that change what all others leave as it is."""

from __future__ import annotations

import unittest

from support import DEVICES

import torch
from torch import Tensor

from kernelwright_worker import draws, structure, ties
from kernelwright_worker.layout import fresh_copy, same_bits
from kernelwright_worker.traits import Traits


def both(make: object) -> tuple[list[Tensor], Traits]:
    """A draw, and what another one has in common with it."""
    first, second = make(), make()  # type: ignore[operator]
    return first, Traits.of(first, second)


class LengthsOfInputs(unittest.TestCase):
    def varied(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        x = torch.randn(16, 128)
        traits = Traits.of([x, *inputs], [x + 1, *inputs])
        (_x, *changed), _skipped = draws.transform([x, *inputs], "filled", torch.device("cpu"), 3, (), traits)
        changes = any(not torch.equal(before, after) for before, after in zip(inputs, changed))
        self.assertEqual("filled" in traits.draws([x, *inputs]), changes)
        return changed

    def test_full_lengths_become_shorter_and_what_belongs_together_stays_so(self) -> None:
        lengths = torch.full((16,), 128)
        first, second, matrix = self.varied(lengths, lengths.int(), torch.full((3, 5), 9, dtype=torch.uint8))
        self.assertTrue(bool((first <= 128).all()) and bool((first >= 64).all()) and len(first.unique()) > 4)
        self.assertTrue(torch.equal(first.int(), second))
        self.assertTrue(bool((matrix <= 9).all()) and bool((matrix >= 5).all()) and len(matrix.unique()) > 2)

    def test_parts_add_up_to_what_they_did(self) -> None:
        (sizes,) = self.varied(torch.full((8,), 16))
        self.assertEqual(int(sizes.sum()), 128)
        self.assertTrue(len(sizes.unique()) > 4 and bool((sizes >= 8).all()))

    def test_a_few_become_shorter_in_the_order_that_they_had(self) -> None:
        (few,) = self.varied(torch.tensor([90, 7, 33, 12]))
        self.assertTrue(bool((few <= torch.tensor([90, 7, 33, 12])).all()) and bool((few >= torch.tensor([45, 4, 17, 6])).all()), few)
        (falling,) = self.varied(torch.tensor([90, 80, 70, 60, 50]))
        self.assertTrue(bool((falling.diff() <= 0).all()), falling)
        (with_one,) = self.varied(torch.tensor([20, 17, 13, 9, 4, 1]))
        self.assertTrue(with_one.tolist() != [20, 17, 13, 9, 4, 1] and int(with_one[-1]) == 1 and bool((with_one.diff() <= 0).all()), with_one)
        (parts,) = self.varied(torch.tensor([100, 8, 14, 6]))
        self.assertEqual((int(parts.sum()), parts.tolist() == [100, 8, 14, 6]), (128, False))

    def test_what_others_tell_or_are_bound_by_stays(self) -> None:
        for inputs in (
            (torch.full((8,), 128), torch.arange(0, 9 * 128, 128)),
            (torch.full((8,), 100), torch.tensor([0, 99, 50])),
            (torch.tensor([9, 5, 7]), torch.tensor([0, 9, 14, 21])),
            (torch.tensor([9, 5, 7]), torch.tensor([9, 14, 21])),
            (torch.tensor([[9, 5, 7]]),),
            (torch.tensor([9, 5]),),
            (torch.tensor([5, 7, 9]),),
            (torch.tensor([2, 0, 1]),),
            (torch.ones(8, dtype=torch.int64),),
            (torch.tensor([0, 13, 40, 41, 128]), torch.tensor([27, 13, 1, 87])),
            (torch.tensor([0, 13, 40, 41, 90]),),
            (torch.full((8,), -100),),
        ):
            self.assertTrue(all(map(torch.equal, inputs, self.varied(*inputs))), inputs)
        lengths, longest = self.varied(torch.full((8,), 40), torch.tensor(40))
        self.assertTrue(int(longest) == 40 and bool((lengths < 40).any()))


class BordersMove(unittest.TestCase):
    def test_no_part_becomes_larger_than_the_largest_was(self) -> None:
        for before in ([0, 13, 40, 41, 90, 100, 128], [0, 7, 7, 30, 64, 65, 96, 128], [0, 60, 64, 128]):
            borders = torch.tensor(before, dtype=torch.int32)
            inputs = [torch.randn(128, 4), borders]
            traits = Traits.of(inputs, [inputs[0] + 1, borders])
            self.assertIn("filled", traits.draws(inputs))
            for seed in range(8):
                (_x, moved), _skipped = draws.transform(inputs, "filled", torch.device("cpu"), seed, (), traits)
                gaps = moved.diff()
                self.assertTrue(bool((gaps >= 0).all()) and int(gaps.max()) <= int(borders.diff().max()), moved)
                self.assertEqual((int(moved[0]), int(moved[-1]), moved.tolist() == before), (0, 128, False), moved)


class Constants(unittest.TestCase):
    def test_masks_of_integers_get_holes(self) -> None:
        for value, dtype in ((1, torch.int64), (0, torch.int64), (1, torch.uint8)):
            inputs = [torch.randn(8, 30), torch.full((8, 30), value, dtype=dtype), torch.full((8,), value, dtype=dtype), torch.full((4, 30), 2 + value, dtype=dtype)]
            traits = Traits.of(inputs, [inputs[0] + 1, *inputs[1:]])
            (_x, mask, few, _lengths), _skipped = draws.transform(inputs, "filled", torch.device("cpu"), 1, (), traits)
            self.assertTrue(20 < int(mask.sum()) < 220 and bool((mask[:, 0] == value).all()) and mask.dtype == dtype, mask)
            self.assertTrue(bool((mask.long().diff(dim=-1) * (1 if value else -1) <= 0).all()), "as padding has it")
            self.assertTrue(torch.equal(few, inputs[2]))

    def test_ends_of_edges_are_others(self) -> None:
        ends = torch.stack([torch.randperm(40), torch.randperm(40)])
        inputs = [torch.randn(4), ends]
        (_x, changed), _skipped = draws.transform(inputs, "filled", torch.device("cpu"), 1, (), Traits.of(inputs, [inputs[0] + 1, ends]))
        before, after = (set(map(tuple, edges.t().tolist())) for edges in (ends, changed))
        self.assertLess(len(before & after), 10)

    def test_what_is_the_same_in_every_draw_gets_other_values(self) -> None:
        inputs = [torch.randn(8, 8), torch.zeros(8, 8), torch.ones(64, dtype=torch.bool), torch.arange(4)]
        for name in DEVICES:
            device = torch.device(name)
            placed = [fresh_copy(value, device) for value in inputs]
            changed, skipped = draws.transform(placed, "filled", device, 1, (), Traits.of(placed, [placed[0] + 1, *placed[1:]]))
            self.assertIsNone(skipped)
            self.assertTrue(same_bits(changed[0], placed[0]) and same_bits(changed[3], placed[3]))
            self.assertTrue(0.1 < float(changed[1].abs().mean()) < 1.0 and 8 < int(changed[2].sum()) < 56)

    def test_integers_in_no_order_come_in_another_one(self) -> None:
        inputs = [torch.randn(4), torch.randperm(64).view(2, 32).to(torch.int32), torch.arange(64), torch.tensor([8, 4])]
        for name in DEVICES:
            device = torch.device(name)
            placed = [fresh_copy(value, device) for value in inputs]
            traits = Traits.of(placed, [placed[0] + 1, *placed[1:]])
            (_x, index, *others), _skipped = draws.transform(placed, "filled", device, 1, (), traits)
            self.assertFalse(torch.equal(index, placed[1]))
            self.assertTrue(torch.equal(index.sort(-1).values, placed[1].sort(-1).values))
            self.assertTrue(all(map(same_bits, others, placed[2:])))
            self.assertTrue("filled" in traits.draws(placed) and "filled" not in Traits.of(others, others).draws(others))

    def test_a_whole_number_becomes_a_smaller_one_unless_it_is_a_size(self) -> None:
        index = torch.randint(300, (4,)) + torch.tensor([0, 0, 0, 600])
        inputs = [index, torch.tensor(12345), torch.tensor([7], dtype=torch.int32), torch.tensor(4), torch.tensor(1), torch.tensor(-100), torch.tensor(1000)]
        for name in DEVICES:
            device = torch.device(name)
            placed = [fresh_copy(value, device) for value in inputs]
            traits = Traits.of(placed, [placed[0] + 1, *placed[1:]])
            self.assertIn("filled", traits.draws(placed))
            for seed in range(8):
                (_x, key, step, *others), _skipped = draws.transform(placed, "filled", device, seed, (), traits)
                self.assertTrue(6172 <= int(key) < 12345 and 4 <= int(step) < 7, (key, step))
                self.assertTrue(all(map(same_bits, others, placed[3:])))

    def test_integers_that_count_come_in_another_order(self) -> None:
        positions, pages = torch.arange(32).expand(3, 32).contiguous(), torch.arange(64, dtype=torch.int32).view(4, 16)
        inputs = [torch.randn(4), positions, pages, torch.arange(32) + 5, torch.arange(4), 2 * torch.arange(32), positions.expand(2, 3, 32)]
        for name in DEVICES:
            device = torch.device(name)
            placed = [fresh_copy(value, device) for value in inputs]
            traits = Traits.of(placed, [placed[0] + 1, *placed[1:]])
            (_x, rows, table, others, *stay), _skipped = draws.transform(placed, "permuted", device, 1, (), traits)
            self.assertIn("permuted", traits.draws(placed))
            self.assertFalse(torch.equal(rows, placed[1]))
            self.assertTrue(torch.equal(rows.sort(-1).values, placed[1]) and torch.equal(rows, rows[:1].expand(3, 32)))
            self.assertTrue(torch.equal(others - 5, rows[0]), "what belongs together stays so")
            self.assertTrue(torch.equal(table.flatten().sort().values, placed[2].flatten()))
            self.assertGreater(int((table // 16 != placed[2] // 16).sum()), 16, "pages of one row are those of others")
            self.assertTrue(all(map(same_bits, stay, placed[4:])))
            self.assertNotIn("permuted", Traits.of(placed, [placed[0], *(value + 1 for value in placed[1:])]).draws(placed))

    def test_borders_in_equal_steps_are_moved_and_stay_in_order(self) -> None:
        offsets, rows = torch.arange(0, 4096, 16), (torch.arange(0, 129, 8, dtype=torch.int32) + 128 * torch.arange(2, dtype=torch.int32)[:, None])
        inputs = [torch.randn(4), offsets, offsets.to(torch.int32), rows, 2 * torch.arange(32)]
        for name in DEVICES:
            device = torch.device(name)
            placed = [fresh_copy(value, device) for value in inputs]
            traits = Traits.of(placed, [placed[0] + 1, *placed[1:]])
            self.assertEqual(traits.counts, (0, 16, 16, 8, 0))
            (_x, *moved, stays), _skipped = draws.transform(placed, "permuted", device, 1, (), traits)
            for own, other in zip(placed[1:], moved):
                self.assertGreater(int((own != other).sum()), own.numel() // 2)
                self.assertTrue(bool((other[..., 1:] > other[..., :-1]).all()))
                self.assertTrue(torch.equal(own[..., [0, -1]], other[..., [0, -1]]))
            self.assertTrue(torch.equal(moved[0], moved[1].long()), "what belongs together stays so")
            self.assertTrue(same_bits(stays, placed[-1]))
            at_ends = [draws.transform(placed, "permuted", device, seed, (), traits)[0][1][[1, -2]].tolist() == [16, 4064] for seed in range(8)]
            self.assertEqual(at_ends, [False, True] * 4, "a look at both ends sees borders that have moved, or none")
            lengths = torch.full((256,), 16, device=device)
            self.assertEqual(Traits.of([placed[1], lengths], [placed[1], lengths]).counts, (0, 0), "lengths tell the same")

    def test_numbers_that_are_the_same_in_every_draw_get_other_values(self) -> None:
        inputs = [{"alpha": 0.0, 1.5: (2.0, 3)}, 0.25, float("nan"), True, "mean", None, torch.zeros(2)]
        again = [{"alpha": 0.0, 1.5: (2.0, 3)}, 0.75, float("nan"), True, "mean", None, torch.zeros(2)]
        traits = Traits.of(inputs, again)
        self.assertEqual((traits.constant, traits.constant_floats), ((True,), (True, True, False)))
        (named, *others), skipped = draws.transform(inputs, "filled", torch.device("cpu"), 1, (), traits)
        self.assertIsNone(skipped)
        self.assertTrue(0.25 <= named["alpha"] <= 0.75 and 1.0 <= named[1.5][0] <= 2.0 and named[1.5][1] == 3)
        self.assertEqual((others[0], *others[2:5]), (0.25, True, "mean", None))
        self.assertEqual(Traits.of([0.5], [0.25]).draws([0.5]), [])

    def test_what_is_the_same_in_every_draw_keeps_its_order_while_it_gets_other_values(self) -> None:
        inputs = [torch.randn(8), torch.linspace(-2, 2, 17)]
        again = [torch.randn(8), torch.linspace(-2, 2, 17)]
        known = structure.find(inputs, lambda: again)
        (_x, edges), skipped = draws.transform(inputs, "filled", torch.device("cpu"), 1, known, Traits.of(inputs, again))
        self.assertIsNone(skipped)
        self.assertTrue(bool((edges.diff() >= 0).all()) and not torch.equal(edges, inputs[1]))


class Masks(unittest.TestCase):
    def test_one_row_is_empty_and_one_of_eight_is_full_and_two_are_padded(self) -> None:
        (mask,), traits = both(lambda: [torch.rand(3, 8, 40) < 0.5])
        self.assertEqual(traits.draws([mask]), ["masked"])
        for name in DEVICES:
            device = torch.device(name)
            (changed,), skipped = draws.transform([fresh_copy(mask, device)], "masked", device, 1, (), traits)
            self.assertIsNone(skipped)
            rows = changed.cpu().flatten(0, -2)
            self.assertTrue(bool((~rows).all(-1).any()) and bool(rows.all(-1).any()))
            self.assertEqual(int((rows != mask.flatten(0, -2)).any(-1).sum()), 1 + 24 // 8 + 2)
            steps = rows[~(~rows).all(-1) & ~rows.all(-1)].int().diff(dim=-1)
            padded = steps[(steps != 0).sum(-1) == 1]
            self.assertEqual(sorted(padded.sum(-1).tolist()), [-1, 1], "at the end of one row, at the beginning of the other")
            self.assertTrue(bool((padded[padded.sum(-1) > 0].argmax(-1) >= 19).all() and (padded[padded.sum(-1) < 0].argmin(-1) <= 20).all()), "half or more")

    def test_what_pads_one_end_alone_goes_on_to(self) -> None:
        def lengths() -> Tensor:
            return torch.arange(40) < torch.randint(1, 41, (64, 1))

        made = {
            "valid": lengths,
            "padded": lambda: ~lengths(),
            "from the right": lambda: lengths().flip(-1),
            "added": lambda: torch.zeros(64, 40).masked_fill(~lengths(), -1e9),
        }
        for name, make in made.items():
            with self.subTest(name):
                (mask,), traits = both(lambda make=make: [make()])
                for seed in range(8):
                    ((changed,), _skipped) = draws.transform([mask], "masked", torch.device("cpu"), seed, (), traits)
                    steps = [one.to(torch.int8).diff(dim=-1) for one in (mask != 0, changed != 0)]
                    self.assertTrue(torch.equal(steps[0].unique(), steps[1].unique()))
                    self.assertFalse(torch.equal(mask, changed))

    def test_columns_that_are_always_the_same_stay_so(self) -> None:
        def make() -> list[Tensor]:
            mask = torch.rand(64, 40) < 0.5
            mask[:, 0], mask[:, 39] = True, False
            return [mask]

        (mask,), traits = both(make)
        ((changed,), _skipped) = draws.transform([mask], "masked", torch.device("cpu"), 1, (), traits)
        self.assertTrue(bool(changed[:, 0].all()) and not bool(changed[:, 39].any()))
        self.assertEqual((int(changed.sum(-1).min()), int(changed.sum(-1).max())), (1, 39))

    def test_of_those_that_are_added_to_scores_rows_are_full_or_padded(self) -> None:
        for closed in (float("-inf"), -1e9):
            (mask,), traits = both(lambda: [torch.zeros(4, 1, 128).masked_fill(torch.rand(4, 1, 128) < 0.3, closed)])
            for name in DEVICES:
                device = torch.device(name)
                ((changed,), _skipped) = draws.transform([fresh_copy(mask, device)], "masked", device, 1, (), traits)
                changed = changed.cpu().reshape(4, 128)
                self.assertTrue(bool(((changed == 0) | (changed == mask.min())).all()))
                self.assertEqual(int((changed != mask.reshape(4, 128)).any(-1).sum()), 3)
                lets_in = (changed == 0).sum(-1)
                self.assertGreaterEqual(int(lets_in.min()), 1)
                self.assertEqual(int((changed[:, :60] != 0).all(-1).sum()), 1, "padded at the beginning")
                self.assertEqual(int((changed[:, -60:] != 0).all(-1).sum()), 1, "and another one at the end")
        for others in (torch.relu(torch.randn(8, 64)), torch.randn(8, 64).sign().clamp(max=0) * 2e3 + 1, torch.zeros(8, 64)):
            self.assertEqual(Traits.of([others], [others.flip(0).contiguous()]).masks, (None,))

    def test_rows_that_depend_on_each_other_are_left_alone(self) -> None:
        def symmetric() -> Tensor:
            upper = (torch.rand(64, 64) < 0.5).triu()
            return upper | upper.mT

        def chosen() -> Tensor:
            return torch.zeros(64, 16, dtype=torch.bool).scatter_(1, torch.rand(64, 16).topk(2).indices, True)

        for make in (
            symmetric,
            chosen,
            lambda: chosen().mT.contiguous(),
            lambda: (torch.rand(64, 64) < 0.5).tril(),
            lambda: (torch.rand(64, 64) < 0.5) | torch.eye(64, dtype=torch.bool),
            lambda: torch.rand(3, 64) < 0.5,
            lambda: torch.rand(64) < 0.5,
        ):
            self.assertEqual(both(lambda: [make()])[1].masks, (None,))

    def test_of_few_flags_a_row_has_none_and_another_many(self) -> None:
        (flags,), traits = both(lambda: [torch.rand(4, 4096) < 0.05])
        ((changed,), _skipped) = draws.transform([flags.clone()], "masked", torch.device("cpu"), 1, (), traits)
        counts = sorted(changed.sum(-1).tolist())
        self.assertTrue(counts[0] == 0 and counts[-1] > 4096 // 5, counts)

    def test_of_few_rows_the_columns_that_chance_has_made_alike_stay(self) -> None:
        (mask,), traits = both(lambda: [torch.rand(4, 256) < 0.9])
        (known,) = traits.masks
        assert known is not None
        ((changed,), _skipped) = draws.transform([mask.clone()], "masked", torch.device("cpu"), 1, (), traits)
        self.assertTrue(bool(known.always.any()) and bool(changed[:, known.always].all()))
        self.assertEqual((int(changed.sum(-1).min()), int(changed.sum(-1).max())), (int(known.always.sum()), 256 - int(known.never.sum())))


class Skewed(unittest.TestCase):
    def test_integers_are_those_of_few_places_alike_in_all_of_a_length(self) -> None:
        def make() -> list[Tensor]:
            edges = torch.randint(0, 100, (2, 500))
            return [edges, edges[0] * 1000 + edges[1], torch.randn(500), torch.randint(0, 9, (200, 4), dtype=torch.int8)]

        inputs, traits = both(make)
        self.assertEqual(traits.draws(inputs), ["skewed"])
        for name in DEVICES:
            device = torch.device(name)
            (edges, keys, weights, others), skipped = draws.transform([fresh_copy(value, device) for value in inputs], "skewed", device, 1, (), traits)
            self.assertIsNone(skipped)
            self.assertTrue(torch.equal(edges[0] * 1000 + edges[1], keys) and same_bits(weights.cpu(), inputs[2]))
            self.assertLessEqual(len(keys.unique()), 4)
            self.assertLessEqual(len(others.unique(dim=0)), 4)
            self.assertTrue(set(keys.tolist()) <= set(inputs[1].tolist()))

    def test_what_may_not_come_twice_or_in_another_order_is_left_alone(self) -> None:
        for make in (
            lambda: [torch.randperm(500)],
            lambda: [torch.stack([torch.randperm(500) for _ in range(3)])],
            lambda: [torch.randint(0, 100, (500,)).sort().values],
            lambda: [torch.randint(0, 100, (500,)).sort(descending=True).values],
            lambda: [torch.randint(0, 10, (32,))],
            lambda: [torch.arange(500) % 7],
            # Numbers of groups in order: others of that length may count within them.
            lambda: [torch.randint(0, 100, (500,)), torch.randint(0, 100, (500,)).sort().values],
        ):
            inputs, traits = both(make)
            self.assertNotIn("skewed", traits.draws(inputs))


class Numbers(unittest.TestCase):
    def test_what_is_never_below_two_comes_down_to_one_together(self) -> None:
        # Draws whose largest elements differ: one that is the same in every draw would stay.
        torch.manual_seed(0)

        def make() -> list[Tensor]:
            return [torch.randint(30, 60, (8,)), torch.randint(40, 90, (8,), dtype=torch.int32), torch.randint(0, 60, (63,)), torch.randn(8)]

        inputs, traits = both(make)
        self.assertEqual(traits.draws(inputs), ["lower"])
        for name in DEVICES:
            device = torch.device(name)
            changed, skipped = draws.transform([fresh_copy(value, device) for value in inputs], "lower", device, 1, (), traits)
            self.assertIsNone(skipped)
            self.assertTrue(torch.equal(changed[0].cpu(), inputs[0] - traits.lowers_by) and torch.equal(changed[1].cpu(), inputs[1] - traits.lowers_by))
            self.assertTrue(1 <= int(changed[0].min()) < 30 and all(same_bits(a.cpu(), b) for a, b in zip(changed[2:], inputs[2:])))

    def test_parts_of_a_whole_and_what_may_be_none_are_not_lowered(self) -> None:
        def parts() -> Tensor:
            cuts = torch.randperm(90)[:7].sort().values * 2 + 2
            return torch.diff(cuts, prepend=torch.zeros(1, dtype=torch.int64), append=torch.full((1,), 200))

        # By chance two draws may add up to the same, or have the same number as their largest: neither is lowered.
        lowest = iter((100, 101))
        given, traits = both(lambda: [(torch.arange(90) % 20 + next(lowest)).to(torch.uint8)])
        given[0][0] = 3
        ((lowered,), _skipped) = draws.transform(given, "lower", torch.device("cpu"), 1, (), traits)
        self.assertEqual(int(lowered[0]), 1, "what another draw has below that does not run over")
        positions = iter((40, 60))
        for make in (parts, lambda: next(positions) + torch.arange(90), lambda: torch.randint(0, 9, (90,)), lambda: torch.full((8,), 40), lambda: torch.rand(8) + 9):
            self.assertEqual(both(lambda: [make()])[1].lowers_by, 0)
        # What belongs together stays so.
        edges = both(lambda: [(edges := torch.randint(0, 100, (2, 500))), 9 + edges[0] * 100 + edges[1]])[1]
        self.assertEqual(edges.lowered, (None, None))

    def test_the_end_of_the_last_part_stays(self) -> None:
        def ends() -> Tensor:
            return torch.cat([torch.randint(90, 4000, (15,)).sort().values, torch.tensor([4000])])

        given, traits = both(lambda: [ends()])
        ((lowered,), _skipped) = draws.transform([given[0].clone()], "lower", torch.device("cpu"), 1, (), traits)
        self.assertTrue(torch.equal(lowered[:-1], (given[0] - traits.lowers_by)[:-1].clamp(min=1)))
        self.assertEqual(int(lowered[-1]), 4000)

    def test_numbers_get_more_digits_and_indices_do_not(self) -> None:
        def make() -> list[Tensor]:
            return [
                torch.randint(-1000, 1000, (90,), dtype=torch.int32),
                torch.randint(-1000, 1000, (90,)),
                torch.randint(0, 1 << 62, (90,)),
                torch.randint(-2, 9, (90,)),
                torch.randint(0, 1000, (90,)),
                torch.rand(90) < 0.5,
            ]

        inputs, traits = both(make)
        self.assertIn("wide", traits.draws(inputs))
        for name in DEVICES:
            device = torch.device(name)
            changed, skipped = draws.transform([fresh_copy(value, device) for value in inputs], "wide", device, 1, (), traits)
            self.assertIsNone(skipped)
            changed = [value.cpu() for value in changed]
            self.assertEqual([int(value.abs().max()).bit_length() for value in changed[:2]], [28, 33])
            self.assertTrue(torch.equal(changed[2] & ((1 << 62) - 1), inputs[2]) and 20 < int((changed[2] < 0).sum()) < 70)
            self.assertTrue(all(same_bits(a, b) for a, b in zip(changed[3:], inputs[3:])))


class Ties(unittest.TestCase):
    def test_the_extremes_that_outputs_name_come_several_times(self) -> None:
        for given, answer, dimension in (
            (torch.randn(40, 9), lambda x: x.argmax(0), 0),
            (torch.randn(4, 40, 9), lambda x: x.min(1, keepdim=True).indices, 1),
            (torch.randn(40, 90).mT, lambda x: torch.softmax(x, -1).argmax(-1), 1),
            (torch.randn(300, 300), lambda x: x.argmax(), None),
        ):
            extremes = ties.find([given], [answer(given)])
            self.assertEqual((extremes[0].dimension, len(extremes)), (dimension, 1))
            for name in DEVICES:
                device = torch.device(name)
                (changed,) = ties.tied([fresh_copy(given, device)], device, 1, extremes)
                changed, before = (x.flatten()[None] if dimension is None else x.movedim(dimension, -1) for x in (changed.cpu(), given))
                best, best_before = (rows.amax(-1, keepdim=True) if extremes[0].largest else rows.amin(-1, keepdim=True) for rows in (changed, before))
                self.assertTrue(torch.equal(best, best_before))
                self.assertGreater(float((changed == best).sum(-1).double().mean()), 2)
                self.assertEqual(changed.stride(), before.stride())

    def test_other_integers_and_answers_found_by_chance_are_none(self) -> None:
        x = torch.randn(40, 9)
        for outputs in ([x.argmax(0) + 1], [x.cumsum(0).argmax(0)], [x], [(x > 0).sum(0)], [x[:3, :1].argmax(0)]):
            self.assertEqual(ties.find([x], outputs), (None,))
        self.assertEqual(ties.find([torch.randn(9, 1)], [torch.zeros(9, dtype=torch.int64)]), (None,))


if __name__ == "__main__":
    unittest.main()
