"""What inputs are in every draw: found, told, and kept by other draws and by what moves elements about."""

from __future__ import annotations

import ctypes
import dataclasses
import unittest
from collections.abc import Callable

import support  # noqa: F401  # makes the worker's package importable

import torch

from kernelwright_worker import delivery, dlpack, draws, recipes, structure, trusted
from kernelwright_worker.device import Device
from kernelwright_worker.layout import same_bits, window_of
from kernelwright_worker.problem import Problem
from kernelwright_worker.ranges import Range
from kernelwright_worker.reference import Reference
from kernelwright_worker.trees import Untransportable


class Structures(unittest.TestCase):
    def found(self, make: Callable[[], torch.Tensor]) -> structure.Structure | None:
        return structure.find([make()], lambda: [make()])[0]

    def test_what_is_so_in_every_draw_is_found(self) -> None:
        def symmetric() -> torch.Tensor:
            a = torch.rand(8, 8)
            return a + a.T

        lower = self.found(lambda: torch.tril(torch.rand(8, 8)))
        assert lower is not None and lower.zeros is not None
        self.assertEqual((int(lower.zeros.sum()), lower.symmetric, lower.ascending, lower.places.numel()), (28, False, False, 36))
        mirrored = self.found(symmetric)
        assert mirrored is not None
        self.assertEqual((mirrored.zeros, mirrored.symmetric, mirrored.places.numel()), (None, True, 36))
        self.assertTrue(all((a // 8, a % 8) == (b % 8, b // 8) for a, b in zip(mirrored.places[0].tolist(), mirrored.mirrors[0].tolist())))
        ordered = self.found(lambda: torch.randn(3, 9).sort().values)
        assert ordered is not None
        self.assertEqual((ordered.ascending, ordered.places.numel()), (True, 0))
        self.assertEqual(ordered.told(), "in ascending order")

    def test_one_of_two_numbers_stays_so(self) -> None:
        def mask() -> torch.Tensor:
            return (torch.rand(64, 48) < 0.7).float()

        def signs() -> torch.Tensor:
            return torch.randint(0, 2, (512,)).float() * 2 - 1

        for make, told in ((mask, "0 or 1 everywhere"), (signs, "-1 or 1 everywhere")):
            inputs, again = [torch.randn(64, 48), make()], [torch.randn(64, 48), make()]
            known = structure.find(inputs, lambda again=again: again)
            assert known[0] is None and known[1] is not None
            self.assertEqual((known[1].told(), known[1].places.numel(), known[1].to_json()["scales"]), (told, 0, False))
            for kind in draws.LABELS:
                changed, _skipped = draws.transform(inputs, kind, torch.device("cpu"), 1, known)
                self.assertTrue(same_bits(changed[1], inputs[1]), kind)
        # Alone they are what makes calls differ from each other.
        for make in (mask, signs):
            known = structure.find([make()], lambda make=make: [make()])
            assert known[0] is not None
            self.assertTrue(known[0].either and known[0].places.numel())
            self.assertIsNotNone(draws.transform([make()], "scaled", torch.device("cpu"), 1, known)[1])

    def test_of_others_it_is_no_structure(self) -> None:
        x = torch.randn(64, 48)

        def few() -> torch.Tensor:
            return torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0]).roll(int(torch.randint(5, ())))

        def chosen() -> torch.Tensor:
            return torch.nn.functional.one_hot(torch.randint(48, (64,)), 48).float()

        for make in (lambda: torch.randint(0, 3, (64, 48)).float(), few, lambda: torch.full((64, 48), float(torch.randint(2, ())))):
            self.assertIsNone(structure.find([x, make()], lambda make=make: [x, make()])[1])
        self.assertIsNone(structure.find([chosen()], lambda: [chosen()])[0], "nothing that could be moved about")
        beside = structure.find([x, chosen()], lambda: [x + 1, chosen()])[1]
        assert beside is not None
        self.assertEqual(beside.either, (0.0, 1.0))

    def test_rows_keep_their_norm(self) -> None:
        def of_length_one() -> torch.Tensor:
            return torch.nn.functional.normalize(torch.randn(6, 50, 4), dim=-1)

        def causal() -> torch.Tensor:
            return torch.randn(3, 32, 32).masked_fill(torch.ones(32, 32, dtype=torch.bool).triu(1), -torch.inf).softmax(-1)

        made = ((of_length_one, 2, torch.float32), (of_length_one, 2, torch.bfloat16), (causal, 1, torch.float32))
        for make, norm, dtype in made:
            inputs, again = ([torch.randn(64, 48), make().to(dtype)] for _ in range(2))
            known = structure.find(inputs, lambda again=again: again)
            assert known[1] is not None
            self.assertEqual((known[1].norm, known[1].places.numel(), known[1].scales), (norm, 0, False))
            differ = 0
            for kind in draws.LABELS:
                (_x, changed), _skipped = draws.transform(inputs, kind, torch.device("cpu"), 1, known)
                rows = torch.linalg.vector_norm(changed, norm, dim=-1, dtype=torch.float64)
                self.assertTrue(bool((~rows.isfinite() | ((rows - 1).abs() < 0.02)).all()), kind)
                self.assertEqual(int((~rows.isfinite()).sum()) > 0, kind == "special" and changed.shape[-1] >= 8, kind)
                differ += not torch.equal(changed, inputs[1])
            self.assertGreater(differ, 15)
            alone = structure.find([make()], lambda make=make: [make()])[0]
            self.assertTrue(alone is None or not alone.norm)

    def test_halves_stay_equal(self) -> None:
        angles = torch.arange(64.0)[:, None] / 10000.0 ** (torch.arange(0, 16, 2) / 16)
        table, x = torch.cat((angles, angles), -1).cos(), torch.randn(64, 16)
        for again in (table, table.roll(1, 0)):
            known = structure.find([x, table], lambda again=again: [x + 1, again])
            assert known[1] is not None
            self.assertEqual((known[0], known[1].told(), known[1].scales), (None, "made of rows of two equal halves", True))
            for kind in draws.LABELS:
                (_x, changed), _skipped = draws.transform([x, table], kind, torch.device("cpu"), 1, known)
                self.assertTrue(same_bits(changed[:, :8].contiguous(), changed[:, 8:].contiguous()), kind)
        ones = torch.ones(64, 16)
        self.assertEqual(structure.find([x, ones], lambda: [x + 1, ones]), [None, None])

    def test_neighbours_that_are_apart_stay_so(self) -> None:
        def knots() -> torch.Tensor:
            return torch.cumsum(torch.rand(101) + 0.05, 0)

        inputs, again = [torch.rand(5000), knots()], [torch.rand(5000), knots()]
        known = structure.find(inputs, lambda: again)
        for kind in draws.LABELS:
            (_x, changed), skipped = draws.transform(inputs, kind, torch.device("cpu"), 1, known)
            self.assertTrue(bool((changed.diff() > 0).all()), kind)

    def test_chance_and_constants_are_no_structure(self) -> None:
        mask = torch.tril(torch.ones(8, 8))
        for make in (
            lambda: torch.randn(8, 8),
            lambda: torch.relu(torch.randn(8, 8)),
            lambda: torch.zeros(8, 8),
            lambda: torch.ones(8, 8),
            lambda: mask,
            lambda: torch.eye(4),
            lambda: torch.tensor(0.0),
        ):
            self.assertIsNone(self.found(make))

    def test_places_are_where_elements_lie(self) -> None:
        strided = self.found(lambda: torch.randn(6, 8)[:, ::2])
        assert strided is not None
        self.assertEqual((strided.told(), strided.unit, strided.places.tolist()), ("", 4, [[8 * row + 2 * column for row in range(6) for column in range(4)]]))
        expanded = self.found(lambda: torch.randn(1, 4).expand(5, 4))
        assert expanded is not None
        self.assertEqual(expanded.places.tolist(), [[0, 1, 2, 3]])
        upper = self.found(lambda: torch.tril(torch.rand(3, 3)).T)
        assert upper is not None
        self.assertEqual(sorted(upper.places[0].tolist()), [0, 3, 4, 6, 7, 8])

    def test_zeros_by_chance_do_not_hide_those_of_every_draw(self) -> None:
        def make() -> torch.Tensor:
            tensor = torch.tril(torch.rand(64, 64) + 0.1)
            tensor[tuple(torch.randint(32, 64, (1,)).tolist()), 3] = 0.0
            return tensor

        known = self.found(make)
        assert known is not None and known.zeros is not None
        self.assertEqual(int(known.zeros.sum()), int(torch.ones(64, 64).triu(1).sum()))
        self.assertIsNone(self.found(lambda: torch.relu(torch.randn(64, 64))))

    def test_integers_are_moved_where_they_are_alone_and_need_not_differ(self) -> None:
        values = self.found(lambda: torch.randint(0, 9, (40, 12)))
        assert values is not None
        self.assertEqual((values.places.tolist(), values.unit, values.told()), ([list(range(column, 480, 12)) for column in range(12)], 8, ""))
        many = self.found(lambda: torch.randint(0, 9, (400, 300)))
        assert many is not None
        self.assertEqual(many.places.shape, (64, 64))
        self.assertTrue(all(len({place % 300 for place in column}) == 1 and len(set(column)) == 64 for column in many.places.tolist()))
        flags = self.found(lambda: torch.rand(64) > 0.5)
        assert flags is not None
        self.assertEqual(flags.places.tolist(), [list(range(64))])
        for make in (lambda: torch.randperm(64), lambda: torch.randint(0, 5, (64,)).cumsum(0), lambda: torch.stack([torch.randperm(64)] * 2), lambda: torch.arange(9)):
            fixed = self.found(make)
            assert fixed is not None
            self.assertEqual(fixed.places.numel(), 0)
        beside = lambda: [torch.randn(4), torch.randint(0, 9, (40, 12))]  # noqa: E731
        self.assertEqual(structure.find(beside(), beside), [None, None])

    def test_integers_that_were_drawn_by_themselves_may_stand_anywhere(self) -> None:
        for floating in (torch.randn(4), torch.arange(4)):
            make = lambda: [floating, torch.randint(0, 9, (70, 90)).t(), torch.randint(0, 9, (1, 5)).expand(3, 5)]  # noqa: B023, E731
            _other, free, shared = structure.find(make(), make, (None, Range(0, 9), Range(0, 9)))
            assert free is not None
            self.assertEqual((free.places.shape, free.told()), ((1, 4096), ""))
            self.assertEqual(free.places.unique().numel(), 4096)
            self.assertLess(int(free.places.max()), 6300)
            self.assertTrue(shared is None or shared.places.numel() <= 5)

    def test_every_draw_keeps_it_and_changes_something(self) -> None:
        def make() -> list:
            a = torch.rand(64, 64)
            return [torch.triu(torch.rand(64, 64)), a + a.T, torch.randn(40, 9).sort().values, torch.diag_embed(torch.randn(5, 6))]

        inputs = make()
        known = structure.find(inputs, make)
        self.assertNotIn(None, known)
        for kind in draws.LABELS:
            for seed in range(5):
                changed, skipped = draws.transform(inputs, kind, torch.device("cpu"), seed, known)
                self.assertIsNone(skipped)
                upper, both, ordered, diagonal = changed
                self.assertFalse(upper.tril(-1).any(), kind)
                self.assertTrue(same_bits(both, both.mT) or kind == "special" and torch.equal(both.nan_to_num(7), both.mT.nan_to_num(7)), kind)
                self.assertTrue(bool((ordered.diff(dim=-1) >= 0).all()), kind)
                self.assertFalse((diagonal - torch.diag_embed(diagonal.diagonal(dim1=-2, dim2=-1))).any(), kind)
                if kind not in ("problem", "filled", "masked", "skewed", "lower", "wide", "tied", "ranged", "permuted"):
                    stays = [kind in ("special", "tiny", "untied") or kind == "blocked" and not draws.can_block(one) for one in inputs]
                    self.assertTrue(all(same or not same_bits(a, b) for same, a, b in zip(stays, inputs, changed)), (kind, seed))

    def test_other_shapes_have_no_structure(self) -> None:
        known = structure.find([torch.tril(torch.rand(8, 8))], lambda: [torch.tril(torch.rand(8, 8))])
        self.assertEqual(structure.fitting(known, [torch.rand(9, 9)]), [None])
        self.assertEqual(structure.fitting(known, []), [])
        self.assertEqual(structure.fitting(known, [torch.rand(8, 8)]), known)


class Moves(unittest.TestCase):
    def test_only_elements_with_a_place_are_moved_and_their_mirror_images_too(self) -> None:
        # The same figures as in the supervisor's test (`rotation.rs`).
        places, mirrors = torch.tensor([[0, 1, 5, 6, 10, 15]]), torch.tensor([[0, 4, 5, 9, 10, 15]])
        known = structure.Structure(torch.Size((4, 4)), (4, 1), 4, places, mirrors, symmetric=True)
        (moved,) = recipes.apply([torch.arange(16.0).view(4, 4)], recipes.Recipe(rotate=3, stir=7), torch.device("cpu"), [known])
        self.assertEqual(moved.flatten().tolist(), [6, 1, 2, 3, 1, 5, 5, 7, 8, 5, 1, 11, 12, 13, 14, 0])

    def test_elements_stay_in_their_group_and_which_one_is_moved_changes(self) -> None:
        # The same figures as in the supervisor's test (`rotation.rs`).
        columns = torch.arange(16).view(4, 4).T.contiguous()
        known = structure.Structure(torch.Size((4, 4)), (4, 1), 4, columns, columns)
        inputs = [torch.arange(16, dtype=torch.int32).view(4, 4)]
        for stir, expected in (
            (7, [0, 1, 14, 3, 4, 5, 6, 7, 8, 9, 2, 11, 12, 13, 2, 15]),
            (8, [0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 7, 12, 13, 14, 3]),
        ):
            (moved,) = recipes.apply(inputs, recipes.Recipe(rotate=3, stir=stir), torch.device("cpu"), [known])
            self.assertEqual(moved.flatten().tolist(), expected)

    def test_no_row_stays_as_it_was_where_single_elements_of_all_are_moved(self) -> None:
        for shape in ((4096, 2), (300, 20, 8), (1, 700)):
            tensor = torch.randn(shape)
            vectors = tensor.numel() // shape[-1]
            moves = dataclasses.replace(recipes.Moves.of(tensor, None), singles=vectors)
            targets, sources = moves.spots([recipes.Recipe(stir=stir) for stir in (5, 6)])
            self.assertEqual(targets.shape, (2, vectors))
            for call in targets:
                self.assertEqual((call // shape[-1]).tolist(), list(range(vectors)))
            self.assertTrue(bool((sources < tensor.numel()).all()))
            self.assertGreater(int((sources[0] != sources[1]).sum()), 0)

    def test_a_stopped_process_is_given_what_the_recipes_say(self) -> None:
        """As on a GPU, into memory of this process."""
        inputs = [torch.randn(100, 30), torch.tril(torch.rand(70, 70)), torch.arange(9), torch.randn(12, 4).T, torch.tensor([])]
        found = structure.find(inputs, lambda: [torch.randn(100, 30), torch.tril(torch.rand(70, 70)), *inputs[2:]])
        wanted = [recipes.Recipe(rotate=n * 7, stir=n * 1000 + 1) for n in range(5)]
        for tensor, known in zip(inputs, found):
            window = window_of(tensor)
            blocks = [_Block(window.numel() * len(wanted)) for _ in range(2)]
            delivery.deliver(tensor, known, wanted, [[call % 2, call * window.numel()] for call in range(len(wanted))], blocks)
            for call, recipe in enumerate(wanted):
                (expected,) = recipes.apply([tensor], recipe, torch.device("cpu"), [known])
                start = call * window.numel()
                got = bytes(blocks[call % 2].memory)[start : start + window.numel()]
                self.assertEqual(got, bytes(window_of(expected).tolist()), tensor.shape)
        with self.assertRaises(Untransportable):
            delivery.deliver(inputs[0], None, wanted, [[0, call * 20000 + 1] for call in range(5)], [_Block(10**6)])
        with self.assertRaises(Untransportable):
            delivery.deliver(inputs[0], None, wanted, [None] * 5, [_Block(10**6)])

    def test_the_trusted_worker_gives_a_stopped_process_what_it_verifies_by(self) -> None:
        source = "import torch\nclass Model(torch.nn.Module):\n    def forward(self, a, b):\n        return a @ b\ndef get_inputs():\n    return [torch.tril(torch.rand(64, 64)), torch.randn(64, 9)]\n"
        device = Device("cpu")
        problem = Problem(source, "problem.py")
        loaded = trusted._Loaded(problem, Reference(problem, problem.init_inputs(1), 1, device), 1, device)
        facts = loaded.facts()
        self.assertEqual([known is None for known in facts["structures"]], [False, True])
        self.assertIn("tensor 1 of the inputs, float32[64, 64], is zero in the same 49.2 % of its places", facts["structure"])
        loaded.operation("draw")({"entry": 4, "seed": 5, "kind": "problem"}, [])
        memory, size = _Block(1 << 16), 64 * 64 * 4
        loaded._mapped.open = lambda _described, _device: [memory]  # type: ignore[assignment, method-assign, return-value, list-item]
        calls = [{"places": [[0, start], [0, start + size]], "recipe": {"rotate": 5, "stir": start + 1}} for start in (0, 32768)]
        loaded.fill({"entry": 4, "blocks": [], "calls": calls}, [])
        for call in calls:
            expected = loaded._trials.made({"base": 4, "recipe": call["recipe"]})
            for tensor, (_block, start) in zip(expected, call["places"]):
                self.assertEqual(bytes(memory.memory)[start : start + tensor.numel() * 4], bytes(window_of(tensor).tolist()))
        self.assertFalse(same_bits(*(loaded._trials.made({"base": 4, "recipe": call["recipe"]})[0] for call in calls)))


class _Block:
    """Memory of this process in the place of another's."""

    def __init__(self, nbytes: int) -> None:
        self.memory = (ctypes.c_ubyte * nbytes)()

    def write(self, offset: int, address: int, nbytes: int) -> None:
        ctypes.memmove(ctypes.addressof(self.memory) + offset, address, nbytes)

    def scatter(self, index: torch.Tensor, values: torch.Tensor) -> None:
        size = len(self.memory) // values.dtype.itemsize * values.dtype.itemsize
        dlpack.over(ctypes.addressof(self.memory), size, values.device).view(values.dtype)[index] = values
