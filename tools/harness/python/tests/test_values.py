"""Values, layouts, draws and recipes: what travels arrives as it was, and what is changed is changed alike on both sides."""

from __future__ import annotations

import collections
import ctypes
import dataclasses
import gc
import math
import mmap
import os
import socket
import threading
import types
import unittest
import unittest.mock

from support import DEVICES

import torch
from torch.cuda import _utils as cuda_utils

from kernelwright_worker import arena as arenas
from kernelwright_worker import cuda_ipc, draws, launches, recipes, records
from kernelwright_worker.arena import Arena, write_arena
from kernelwright_worker.channel import Channel, WorkerError, serve
from kernelwright_worker.failures import condense
from kernelwright_worker.layout import Layout, admit_plain, editable_copy, fresh_copy, same_bits, window_of
from kernelwright_worker.locations import Locations
from kernelwright_worker.ranges import Range
from kernelwright_worker.records import PROBLEM_MODULE
from kernelwright_worker.traits import Traits
from kernelwright_worker.trees import Untransportable, decode, encode, map_tensors

Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    loss: float


@dataclasses.dataclass(frozen=True)
class Heads:
    width: int
    count: int = 4
    #: No field.
    dropout = 0.0

    @property
    def size(self) -> int:
        return self.width // self.count

    @property
    def mask(self) -> torch.Tensor:
        return torch.ones(self.count)

    @property
    def kernel(self) -> int:
        raise NotImplementedError


class Plain:
    def __init__(self) -> None:
        self.scale = torch.ones(2)


def travel(value: object) -> object:
    tensors: list[torch.Tensor] = []
    tree = encode(value, tensors, admit_plain)
    fd, entries = write_arena(tensors)
    arrived = decode(tree, Arena(fd).tensors(entries))
    os.close(fd)
    return arrived


class Trees(unittest.TestCase):
    def test_plain_values_arrive_as_they_were(self) -> None:
        for value in (
            [None, True, 1, -0.5, "text"],
            (1, [2, (3,)], {"a": {4: 5.0}}),
            [2**60, math.inf, -math.inf, complex(1, math.inf)],
            [torch.float16, torch.device("cuda", 1), torch.Size([2, 3])],
            {},
        ):
            self.assertEqual(travel(value), value)
        self.assertTrue(math.isnan(travel(math.nan)))

    def test_named_containers_arrive_as_plain_ones(self) -> None:
        self.assertEqual(travel(Pair(1, 2)), (1, 2))
        arrived = travel(Output(torch.ones(2), 0.5))
        self.assertEqual((arrived["logits"].tolist(), arrived["loss"]), ([1.0, 1.0], 0.5))

    def test_records_keep_their_class_on_their_own_side(self) -> None:
        given = [Heads(8), Pair(torch.ones(2), 1), types.SimpleNamespace(depth=(Heads(16),))]
        heads, pair, namespace = map_tensors(given, lambda tensor: tensor + 1)
        self.assertEqual((heads, namespace), (given[0], given[2]))
        self.assertEqual((type(pair), pair.a.tolist(), pair.b), (Pair, [2.0, 2.0], 1))
        with unittest.mock.patch.object(Plain, "__module__", PROBLEM_MODULE):
            self.assertEqual(map_tensors(Plain(), lambda tensor: tensor + 1).scale.tolist(), [2.0, 2.0])
        with self.assertRaises(Untransportable):
            travel(Plain())

    def test_elsewhere_records_have_their_parts_and_what_properties_give(self) -> None:
        tree = encode([Heads(8), Pair(1, Heads(16)), types.SimpleNamespace(rate=0.5)], [], admit_plain, computed=True)
        with unittest.mock.patch.dict(records._classes, clear=True):
            heads, pair, namespace = decode(tree, [], records=True)
        self.assertNotIsInstance(heads, Heads)
        self.assertEqual((type(heads).__name__, heads.width, heads.size, heads.dropout), ("Heads", 8, 2, 0.0))
        self.assertFalse(hasattr(heads, "mask") or hasattr(heads, "kernel"), "tensors that are computed, and what raises")
        self.assertEqual(dataclasses.replace(heads, width=4).width, 4)
        self.assertEqual((pair.a, pair.b.size, pair._replace(a=2)[0], namespace.rate), (1, 4, 2, 0.5))

    def test_what_is_read_from_a_class_is_read_only_when_asked_for(self) -> None:
        with unittest.mock.patch.object(Heads, "size", property(lambda _self: self.fail("it was read"))):
            self.assertEqual(travel(Heads(8)), {"width": 8, "count": 4})

    def test_tensors_keep_layout_aliasing_and_bits(self) -> None:
        base = torch.arange(24.0).reshape(4, 6)
        cases = [base, base.t(), base[:, 1:3], base[0].expand(5, 6), base[2:2], torch.tensor(3.0), torch.randn(3).to(torch.bfloat16)]
        cases += [torch.tensor([True, False]), torch.tensor([2**60]), torch.randn(3, dtype=torch.complex64).conj(), torch.tensor([math.nan, -0.0])]
        for tensor in cases:
            arrived = travel(tensor)
            self.assertEqual(arrived.stride(), tensor.stride())
            self.assertTrue(same_bits(arrived, tensor.resolve_conj()), tensor)
        first, second = travel([base, base])
        self.assertIs(first, second)

    def test_other_values_are_refused(self) -> None:
        cycle: list = []
        cycle.append(cycle)
        for value in (object(), {1, 2}, b"x", len, cycle, torch.ones(2).to_sparse(), torch.empty(1, device="meta")):
            with self.assertRaises(Untransportable):
                travel(value)
        for tree in ({"tensor": 0}, {"tensor": True}, {"list": 3}, {"dict": [[1]]}, {"code": "x"}, {"float": "x"}, {"dtype": "nn"}, {"record": [1]}, [1]):
            with self.assertRaises(Untransportable):
                decode(tree, [])

    def test_an_arena_is_sealed(self) -> None:
        fd, _entries = write_arena([torch.ones(4)])
        self.addCleanup(os.close, fd)
        for change in (lambda: os.pwrite(fd, b"x", 0), lambda: os.ftruncate(fd, 0)):
            with self.assertRaises(PermissionError):
                change()

    def test_an_arena_that_is_busy_for_a_moment_is_sealed(self) -> None:
        fd = os.memfd_create("kernelwright-test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self.addCleanup(os.close, fd)
        os.ftruncate(fd, 1)
        writable = mmap.mmap(fd, 1)
        holder = threading.Timer(0.05, writable.close)
        holder.start()
        self.addCleanup(holder.join)
        arenas._seal(fd)
        with self.assertRaises(PermissionError):
            os.pwrite(fd, b"x", 0)


class Copies(unittest.TestCase):
    def test_copies_are_of_the_same_layout_in_other_memory(self) -> None:
        for name in DEVICES:
            device = torch.device(name)
            for tensor in (torch.randn(3, 4).t(), torch.randn(4).expand(3, 4), torch.empty(0, 2), torch.tensor(1)):
                copy = fresh_copy(tensor, device)
                self.assertEqual(Layout.of(copy), Layout.of(tensor))
                self.assertTrue(torch.equal(copy.cpu(), tensor))
                self.assertFalse(copy._is_view())

    def test_each_element_of_an_expanded_tensor_is_changed_once(self) -> None:
        copy, elements = editable_copy(torch.arange(4.0).expand(3, 4), torch.device("cpu"))
        elements.mul_(2)
        self.assertEqual(copy.tolist(), [[0, 2, 4, 6]] * 3)


class Draws(unittest.TestCase):
    def test_every_kind_changes_floats_and_leaves_indices_alone(self) -> None:
        inputs = [torch.randn(16, 16), torch.arange(4), {"s": torch.randn(16)}, 3]
        for name in DEVICES:
            device = torch.device(name)
            placed = [fresh_copy(value, device) if isinstance(value, torch.Tensor) else value for value in inputs]
            for kind in draws.LABELS:
                changed, skipped = draws.transform(placed, kind, device)
                self.assertIsNone(skipped)
                self.assertEqual(changed[1].tolist(), [0, 1, 2, 3])
                stays = kind in ("problem", "filled", "masked", "skewed", "lower", "wide", "tied", "ranged", "permuted", "untied")
                self.assertEqual(same_bits(changed[0], placed[0]), stays, kind)
            special = draws.transform(placed, "special", device)[0][0]
            self.assertEqual((int(special.isnan().sum()), int(special.isinf().sum())), (1, 1))
            equal_rows = draws.transform(placed, "structured", device)[0][0]
            self.assertTrue(torch.equal(equal_rows[0], equal_rows[3]))
            first = equal_rows[0, :-1]
            self.assertTrue(bool((first[::2] > 0).all() and (first[1::2] < 0).all()), "the highest frequency alone, but for a column of zeros")

    def test_columns_move_as_a_bias_moves_them(self) -> None:
        for name in DEVICES:
            given = torch.randn(4, 30, 50, device=name)
            moved = draws.transform([given], "biased", torch.device(name))[0][0] - given
            first, second = moved[:2].cpu(), moved[2:].cpu()
            for part, by_itself in ((first, first[:1, :1]), (second, second[:1, :, :1])):
                self.assertTrue(torch.allclose(part, by_itself.expand_as(part), atol=1e-5))
                self.assertEqual(part.round().unique().tolist(), [-5, -1, 0, 5])
            self.assertGreater(float(first.std(2).min()), 1, "columns of the first matrices, channels of the others")
            one_sign = draws.transform([given.abs(), -given.abs(), given[0, 0]], "biased", torch.device(name))[0]
            self.assertTrue(bool((one_sign[0] >= 0).all() and (one_sign[1] <= 0).all()))
            self.assertFalse(torch.equal(one_sign[2], given[0, 0]))

    def test_matrices_fall_into_parts_within_their_range(self) -> None:
        for name in DEVICES:
            device = torch.device(name)
            for given in (torch.rand(3, 64, 80, device=name), torch.randn(64, 80, device=name), torch.randn(64, 80, device=name).exp()):
                ((drawn,), _skipped) = draws.transform([given], "blocked", device)
                own, other = drawn[..., :16, :40].flatten(), drawn[..., :16, 40:].flatten()
                self.assertGreater(float(own.min()), float(other.max() if given.min() >= 0 and given.max() <= 1 else other.quantile(0.9)))
                self.assertAlmostEqual(float(drawn.mean()), float(given.mean()), delta=0.05 * float(given.std()))
                self.assertTrue(bool(drawn.min() >= given.min() and drawn.max() <= given.max()))
                self.assertGreater(int(drawn.unique().numel()), given.numel() // 2, "they still differ")
            few = [torch.randn(64, device=name), torch.randn(6, 64, device=name), torch.ones(9, 9, device=name)]
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(draws.transform(few, "blocked", device)[0], few)))

    def test_some_rows_are_in_order(self) -> None:
        for name in DEVICES:
            given = torch.rand(64, 3, 50, device=name)
            for kind in ("structured", "unsigned"):
                drawn = draws.transform([given], kind, torch.device(name))[0][0]
                steps = drawn[32:36].diff(dim=-1)
                self.assertTrue(bool((steps[::2] >= 0).all() and (steps[1::2] <= 0).all() and not (drawn[36].diff(dim=-1) >= 0).all()))
            self.assertTrue(bool((drawn >= 0).all()), "what is positive stays so without changes of sign")
            row = draws.transform([given.flatten()], "unsigned", torch.device(name))[0][0]
            self.assertTrue(bool((row[4800:6000].diff() >= 0).all()))

    def test_a_row_has_equal_numbers_and_a_matrix_a_column_of_zeros(self) -> None:
        for name in DEVICES:
            for given, has_column in ((torch.rand(64, 48, device=name) + 1, True), (torch.rand(64, 3, 48, device=name) + 1, False)):
                (drawn,), _skipped = draws.transform([given], "unsigned", torch.device(name))
                row, rest = (drawn[16], drawn[17]) if has_column else (drawn[16, 0], drawn[16, 1:])
                self.assertTrue(bool((row[24:-1] == row[0]).all()) and torch.equal(rest[..., :-1], (given[17] if has_column else given[16, 1:])[..., :-1]))
                self.assertEqual(bool((drawn[..., -1] == 0).all()), has_column)

    def test_a_block_of_zeros_and_one_of_equal_numbers_come_alone(self) -> None:
        for name in DEVICES:
            for given in (torch.rand(64, 3, 48, device=name) + 1, torch.rand(5, 48, device=name) + 1):
                (drawn,), skipped = draws.transform([given], "blank", torch.device(name))
                (all_of_it,), _skipped = draws.transform([given], "unsigned", torch.device(name))
                self.assertIsNone(skipped)
                self.assertTrue(torch.equal(drawn == 0, all_of_it == 0) and bool((drawn == 0).any()))
                first = len(given) // 8
                rest = drawn[first:]
                self.assertTrue(torch.equal(rest[rest != 0], given[first:][rest != 0]), "the rest is left alone")
                self.assertTrue(torch.equal(drawn[:first, ..., :24], given[:first, ..., :24]))
                self.assertEqual([bool((row[24:-1] == row[0]).all()) for row in drawn[0].flatten(0, -2)] if first else [], [True, False, False][: 3 * first])

    def test_what_uneven_tensors_have_at_their_ends_differs(self) -> None:
        (made, _skipped) = draws.transform([torch.ones(4099) for _ in range(3)], "uneven", torch.device("cpu"), 1)
        self.assertEqual([round(1 / float(tensor[-1])) for tensor in made], [1, 2, 3])
        self.assertTrue(all(float(tensor[-1]) == float(tensor.max()) for tensor in made))

    def test_no_sample_stands_for_values_that_have_changed_places(self) -> None:
        for name in DEVICES:
            generator = torch.Generator().manual_seed(0)
            for shape in ((1024, 512), (64, 96, 160), (500_000,)):
                given = torch.randn(shape, generator=generator).to(name)
                (sifted,), skipped = draws.transform([given], "sifted", torch.device(name), seed=5)
                self.assertIsNone(skipped)
                self.assertTrue(torch.equal(sifted.flatten().sort().values, given.flatten().sort().values), "they are the same values")
                for sample in (sifted[::2], sifted[::8], sifted[: len(sifted) // 2], sifted[..., ::8]):
                    off = float(sample.square().square().mean() / sifted.square().square().mean())
                    self.assertLess(off, 0.985, "what is usual is usual in samples")
                    self.assertLess(abs(float(sample.mean())), 0.03)
                    self.assertLess(abs(float(sample.std()) - 1), 0.05)
        others = [torch.randn(200), torch.randn(1, 1), torch.tensor(1.0), torch.randn(64, 64, dtype=torch.complex64), torch.ones(0, 4)]
        for given, sifted in zip(others, draws.transform(others, "sifted", DEVICES[0])[0]):
            self.assertTrue(torch.equal(given, sifted))

    def test_what_changes_in_place_lies_in_a_row_or_anywhere(self) -> None:
        x = torch.randn(256, 768)
        for kind, count, factor in (("touched", 384, 0.75), ("raised", 64, 100.0), ("opposed", 3, -100.0), ("flipped", 384, -1.0)):
            with self.subTest(kind):
                (changed,), skipped = draws.transform([x], kind, DEVICES[0], seed=7)
                self.assertIsNone(skipped)
                places = (changed != x).flatten().nonzero().flatten()
                self.assertEqual(len(places), count)
                self.assertTrue(torch.equal(changed.flatten()[places], x.flatten()[places] * factor))
                self.assertEqual(bool((places.diff() == 1).all()), kind != "opposed", places)
        (few,), _skipped = draws.transform([torch.ones(16)], "opposed", DEVICES[0], seed=7)
        self.assertEqual(few.tolist().count(-100.0), 1, "of few elements one is enough")

    def test_integers_of_a_known_range_are_touched_too(self) -> None:
        given = [torch.randint(3, 500, (40, 64)), torch.randint(3, 500, (40, 64)), torch.randint(0, 2, (8,), dtype=torch.int8)]
        traits = Traits(ranges=(Range(3, 500), None, Range(0, 2)))
        for inputs in (given, [*given[:2], torch.randn(8)]):
            for seed in range(8):
                (changed, other, last), skipped = draws.transform(inputs, "touched", torch.device("cpu"), seed, (), traits)
                self.assertIsNone(skipped)
                places = (changed != inputs[0]).flatten().nonzero().flatten()
                self.assertTrue(len(places) == 5 and bool((places.diff() == 1).all()) and torch.equal(other, inputs[1]))
                self.assertTrue(int(changed.min()) >= 3 and int(changed.max()) < 500 and int((last != inputs[2]).sum()) == 1)
        _same, skipped = draws.transform(given, "touched", torch.device("cpu"), 1)
        self.assertIsNotNone(skipped)

    def test_small_values_are_drawn_without_what_is_not_finite(self) -> None:
        (tiny,), _skipped = draws.transform([torch.randn(16, 16)], "tiny", torch.device("cpu"))
        (special,), _skipped = draws.transform([torch.randn(16, 16)], "special", torch.device("cpu"))
        self.assertTrue(bool(tiny.isfinite().all()))
        self.assertTrue(same_bits(tiny[0, :6], special[0, :6]))
        self.assertEqual(tiny[0, 4:6].tolist(), [0.0, 0.0])
        given = torch.randn(16, 16)
        (small,), _skipped = draws.transform([given], "small", torch.device("cpu"))
        self.assertTrue(torch.equal((small * 256)[small != 0], given[small != 0]) and small[0, 4:6].tolist() == [0.0, 0.0] and int((small == 0).sum()) == 2)

    def test_of_a_few_rows_the_last_one_is_smaller_and_ends_in_zeros(self) -> None:
        for given in (torch.rand(2, 80) + 1, torch.rand(3, 4, 80) + 1, torch.rand(1, 80) + 1):
            (drawn,), _skipped = draws.transform([given], "unsigned", torch.device("cpu"))
            self.assertTrue(bool((drawn[-1, ..., 60:] == 0).all()) and int((drawn == 0).sum()) == 20 * given[-1].numel() // 80)
            parts = (drawn / given).where(drawn != 0, torch.inf).flatten(1).amin(-1)
            self.assertEqual(parts.tolist(), [1.0] * (len(given) - 1) + [1.0 if len(given) == 1 else 0.25])
        (vector,), _skipped = draws.transform([torch.rand(80) + 1], "unsigned", torch.device("cpu"))
        self.assertFalse(bool((vector == 0).any()))

    def test_probabilities_are_never_negative(self) -> None:
        given = [torch.randn(32, 64).softmax(-1), torch.rand(32, 64), torch.randn(8, 16).softmax(-1).bfloat16()]
        traits = Traits.of(given, [*given[:2], given[2].flip(0)])
        self.assertEqual(traits.probabilities, (True, False, True))
        for kind in ("structured", "negative", "biased", "opposed"):
            changed, _skipped = draws.transform(given, kind, torch.device("cpu"), 1, (), traits)
            self.assertTrue(bool((changed[0] >= 0).all() and (changed[2] >= 0).all()), kind)
            self.assertEqual(bool((changed[1] < 0).any()), kind != "biased", "what only happens to be positive is made negative")

    def test_a_nudge_tells_any_two_elements_apart(self) -> None:
        for name in DEVICES:
            device = torch.device(name)
            for dtype in (torch.float32, torch.bfloat16):
                ones = torch.ones(64, 64, dtype=dtype, device=device)
                nudged = [draws.transform([ones], "nudged", device, seed)[0][0] for seed in range(12)]
                again = draws.transform([ones], "nudged", device, 3)[0][0]
                self.assertTrue(same_bits(nudged[3], again))
                flat = torch.stack([one.double().flatten().cpu() for one in nudged]) - 1
                for apart in (1, 2, 11, 22, 64, 121, 2048):
                    moved = flat[:, apart:] - flat[:, :-apart]
                    # In either direction, for all but a few: a border may lie on either side.
                    self.assertGreater(float(((moved > 0).any(0) & (moved < 0).any(0)).double().mean()), 0.9 if dtype == torch.bfloat16 else 0.999)
                most = torch.finfo(dtype).eps * (1 if dtype == torch.bfloat16 else 5 * 128)
                self.assertLessEqual(float(flat.abs().max()), most * 1.01)

    def test_zeros_and_denormals_are_untied_and_nothing_else_moves(self) -> None:
        for name in DEVICES:
            device = torch.device(name)
            for kind in ("structured", "special"):
                (drawn,), _skipped = draws.transform([torch.randn(32, 16, device=device)], kind, device)
                (untied,), _skipped = draws.transform([drawn], "untied", device)
                small = drawn.abs() < torch.finfo(drawn.dtype).tiny
                self.assertTrue(same_bits(untied[~small], drawn[~small]))
                self.assertGreater(untied[small].unique().numel(), 3)
                self.assertLess(float(untied[small].abs().max()), 5e-4)

    def test_two_zeros_are_untied_into_either_order(self) -> None:
        (drawn,), _skipped = draws.transform([torch.randn(4, 8)], "small", torch.device("cpu"))
        orders = set()
        for seed in (0, 1):
            (untied,), _skipped = draws.transform([drawn], "untied", torch.device("cpu"), seed)
            orders.add(torch.softmax(untied[0], -1)[4:6].diff().sign().item())
        self.assertEqual(orders, {1.0, -1.0})

    def test_a_draw_without_floats_is_skipped(self) -> None:
        _inputs, skipped = draws.transform([torch.arange(3)], "scaled", torch.device("cpu"))
        self.assertIn("no floating-point", skipped or "")

    def test_an_unknown_kind_is_an_error(self) -> None:
        with self.assertRaises(WorkerError):
            draws.transform([torch.ones(1)], "other", torch.device("cpu"))


class Memory(unittest.TestCase):
    def test_memory_that_was_given_back_is_no_output(self) -> None:
        rows = torch.ones(4, 8)
        view = rows[1:, ::2]
        self.assertIs(admit_plain(view).dtype, torch.float32)
        rows.untyped_storage().resize_(64)
        for gone in (rows, view):
            with self.assertRaises(Untransportable):
                admit_plain(gone)
        self.assertEqual(admit_plain(torch.empty(0, 3)).shape, (0, 3))
        named = torch.nn.Parameter(torch.ones(3))
        named.shard = 1
        self.assertEqual(admit_plain(named).shape, (3,))
        for name in ("stride", "untyped_storage", "data_ptr", "__dlpack__"):
            hiding = torch.ones(3)
            setattr(hiding, name, lambda: None)
            with self.assertRaisesRegex(Untransportable, name):
                admit_plain(hiding)

    def test_a_copy_that_is_made_when_it_is_asked_for_is_no_output(self) -> None:
        copied = torch.ones(4)
        lazy = torch._lazy_clone(copied)
        with self.assertRaises(Untransportable):
            admit_plain(lazy)
        with self.assertRaises(Untransportable):
            Locations(cuda_ipc.Blocks()).add(lazy)


class Stirring(unittest.TestCase):
    def test_elements_come_in_the_place_of_others_as_the_supervisor_puts_them(self) -> None:
        # The same figures as in the supervisor's test (`rotation.rs`).
        expected = [15, 5, 0, 4, 15, 12, 13, 15, 10, 0, 13, 8, 1, 3, 3, 2]
        recipe = recipes.Recipe.parse({"rotate": 3, "stir": 7})
        for device in DEVICES:
            tensor = torch.arange(16, dtype=torch.float32, device=device)
            self.assertEqual(recipes.apply([tensor], recipe, torch.device(device))[0].tolist(), expected)
            window = torch.zeros(64, dtype=torch.uint8, device=device)
            recipes.write_each([window], tensor, [recipe], None)
            self.assertEqual(window.view(torch.float32).tolist(), expected)
        integers = torch.arange(16)
        self.assertTrue(torch.equal(recipes.apply([tensor, integers], recipe, torch.device(device))[1].cpu(), integers))

    def test_many_windows_hold_what_each_recipe_says_wherever_they_lie(self) -> None:
        """Where they are written by address, and where they are too large for that."""
        wanted = [recipes.Recipe(rotate=7 * n, stir=n % 3 * (n * 1000 + 1)) for n in range(40)]
        for shape, dtype in (((70, 40), torch.float32), ((9, 4), torch.bfloat16), ((66, 5), torch.complex128), ((600, 500), torch.float32)):
            tensor = torch.randn(shape, dtype=dtype)
            size = window_of(tensor).numel()
            memory = torch.zeros(size * len(wanted) * 2, dtype=torch.uint8)
            windows = [memory[start : start + size] for start in range(0, len(memory), 2 * size)]
            recipes.write_each(windows, tensor, wanted, None)
            for window, recipe in zip(windows, wanted, strict=True):
                (expected,) = recipes.apply([tensor], recipe, tensor.device)
                self.assertTrue(torch.equal(window, window_of(expected)), (shape, recipe))
            self.assertFalse(memory.view(len(wanted), 2, size)[:, 1].any(), "nothing is written beside them")


class Recipes(unittest.TestCase):
    def apply(self, inputs: list, scale: float, roll: int) -> list:
        return recipes.apply(inputs, recipes.Recipe(scale, roll), torch.device("cpu"))

    def test_floats_are_scaled_and_rolled_and_integers_copied(self) -> None:
        x, index = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2, 0, 1])
        changed, copied = self.apply([x, index], 0.5, 1)
        self.assertEqual((changed.tolist(), copied.tolist()), ([1.5, 0.5, 1.0], [2, 0, 1]))
        self.assertEqual(x.tolist(), [1.0, 2.0, 3.0])

    def test_the_first_dimension_longer_than_one_is_rolled(self) -> None:
        for dense in (True, False):
            rows = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])
            (changed,) = self.apply([rows if dense else rows.mT.contiguous().mT], 2.0, 4)
            self.assertEqual(changed.tolist(), [[[10.0, 12.0], [2.0, 4.0], [6.0, 8.0]]])

    def test_integers_alone_are_rolled_unless_sorted(self) -> None:
        index, offsets = self.apply([torch.tensor([2, 0, 1]), torch.tensor([0, 4, 8])], 0.5, 1)
        self.assertEqual((index.tolist(), offsets.tolist()), ([1, 2, 0], [0, 4, 8]))

    def test_types_without_an_order_of_their_own_are_sorted_or_not(self) -> None:
        for dtype in (torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn, torch.float8_e5m2):
            self.assertTrue(recipes._is_sorted(torch.tensor([0, 4, 8]).to(dtype)), dtype)
            self.assertFalse(recipes._is_sorted(torch.tensor([2, 0, 1]).to(dtype)), dtype)
        large = torch.tensor([2**62, -(2**62), -(2**62) + 1]).view(torch.uint64)
        self.assertTrue(recipes._is_sorted(large))
        self.assertFalse(recipes._is_sorted(large.view(torch.int64)[[0, 2, 1]].view(torch.uint64)))
        index, offsets = self.apply([torch.tensor([2, 0, 1]).to(torch.uint16), torch.tensor([0, 4, 8]).to(torch.uint16)], 0.5, 1)
        self.assertEqual((index.tolist(), offsets.tolist()), ([1, 2, 0], [0, 4, 8]))

    def test_the_last_rows_of_dense_floats_come_in_front(self) -> None:
        def rotate(tensor: torch.Tensor, by: int) -> list:
            return recipes.apply([tensor], recipes.Recipe(rotate=by), torch.device("cpu"))[0].flatten().tolist()

        self.assertEqual(rotate(torch.arange(6.0).view(1, 3, 2), 4), [2, 3, 4, 5, 0, 1])
        rows = torch.arange(400.0).view(2, 50, 4)
        self.assertEqual(rotate(rows, 101), [396, 397, 398, 399, *range(396)])
        self.assertEqual(rotate(torch.tensor([2, 0, 1]), 1), [2, 0, 1])

    def test_one_call_alone_gets_what_it_gets_among_others(self) -> None:
        """On a GPU small tensors of all calls are made at once: that computation needs no GPU to be compared."""
        wanted = [recipes.Recipe(scale, roll) for scale, roll in ((1.0, 0), (0.503, 1), (0.75, 4095), (0.999, 2))]
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.complex64):
            for shape in ((3, 5), (1, 4, 2), (7,)):
                tensor = torch.randn(shape, dtype=dtype)
                expected = [recipes.apply([tensor], recipe, tensor.device)[0] for recipe in wanted]
                for made in (recipes._in_few_launches(tensor, wanted), [one for (one,) in recipes.apply_each([tensor], wanted, tensor.device)]):
                    self.assertTrue(all(same_bits(a, b) and a.stride() == b.stride() for a, b in zip(expected, made, strict=True)), (dtype, shape))
                    self.assertEqual(len({one.untyped_storage().data_ptr() for one in made}), len(wanted))

    def test_calls_without_tensors_have_their_values(self) -> None:
        self.assertEqual(recipes.apply_each([3, "x"], [recipes.Recipe()] * 2, torch.device("cpu")), [[3, "x"], [3, "x"]])

    def test_layouts_survive(self) -> None:
        (changed,) = self.apply([torch.arange(3.0).expand(2, 3)], 2.0, 1)
        self.assertEqual((changed.stride(), changed.tolist()), ((0, 1), [[4, 0, 2]] * 2))


class OwnCode(unittest.TestCase):
    def test_kernels_of_the_run_time_compiler_are_found_wherever_they_are_kept(self) -> None:
        self.assertEqual(launches._run_time_kernels(), set())
        kept = {"kernel": cuda_utils._CudaKernel(ctypes.c_void_p(), ctypes.c_void_p())}
        gc.freeze()  # as before the first timed batch
        self.assertEqual((launches._run_time_kernels(), len(kept)), ({"torch.cuda._compile_kernel"}, 1))


class Channels(unittest.TestCase):
    def test_messages_and_descriptors_arrive_whole(self) -> None:
        left, right = (Channel(end) for end in socket.socketpair())
        fd = os.memfd_create("x")
        os.write(fd, b"content")
        left.send({"op": "one"}, [fd])
        left.send({"op": "two", "text": "ä" * 10000})
        os.close(fd)
        first, second = right.receive(), right.receive()
        assert first and second
        self.assertEqual((first.body["op"], os.pread(first.fds[0], 7, 0)), ("one", b"content"))
        self.assertEqual((second.body["op"], second.fds), ("two", []))
        first.close()
        left.close()
        self.assertIsNone(right.receive())
        right.close()

    def test_a_failing_handler_answers_and_the_next_request_is_served(self) -> None:
        ours, theirs = socket.socketpair()
        left, right = Channel(ours), Channel(theirs)

        def leave(_body: dict, _fds: list) -> dict:
            raise SystemExit(3)

        for op in ("leave", "nothing", "fine"):
            left.send({"id": op, "op": op})
        ours.shutdown(socket.SHUT_WR)
        serve(right, {"leave": leave, "fine": lambda _body, _fds: {"x": 1}}, lambda error, op: WorkerError("internal", op, repr(error)))
        replies = [left.receive() for _ in range(3)]
        self.assertEqual([reply.body.get("error", {}).get("kind") for reply in replies if reply], ["internal", "internal", None])
        left.close()
        right.close()


class Failures(unittest.TestCase):
    def test_long_compiler_output_starts_at_its_first_error(self) -> None:
        text = "building\n" + "note\n" * 500 + "kernel.cu(3): error: expected a ;\n" + "more\n" * 500
        cut = condense(text, 400)
        self.assertLessEqual(len(cut), 400)
        self.assertIn("kernel.cu(3): error: expected", cut)
        self.assertEqual(condense("short", 400), "short")
