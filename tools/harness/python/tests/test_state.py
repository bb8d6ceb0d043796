"""Another state of a module: the same on both sides, whatever tensors are called, and given back afterwards."""

from __future__ import annotations

import copy
import unittest

from support import DEVICES

import torch
from torch import Tensor, nn

from kernelwright_worker.another_state import dependent, learnt, other_values, trained, variable, varied
from kernelwright_worker.built_in_state import BY_NAME, BY_VALUE, FIRST_OF_ANY, LAST_OF_ANY, OF_ANY, POLICIES, built_with
from kernelwright_worker.device import Device
from kernelwright_worker.problem import Problem
from kernelwright_worker.outputs import agree
from kernelwright_worker.reference import Reference


class Norms(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 6)
        self.norm = nn.BatchNorm1d(6)
        self.gate = nn.Parameter(torch.zeros(3))
        self.register_buffer("mask", torch.full((3,), -torch.inf))


class OtherNames(nn.Module):
    """What is folded when it is built, out of modules and tensors under other names, some of which are gone afterwards."""

    def __init__(self) -> None:
        super().__init__()
        norm = nn.BatchNorm1d(6)
        self.scale = norm.weight.detach() / norm.running_var
        self.shift = norm.bias.detach() - norm.running_mean
        self.closed = nn.Parameter(torch.zeros(3))
        self.scratch = torch.zeros(3)


class States(unittest.TestCase):
    def test_signs_of_scales_turn_under_an_even_seed_but_of_what_may_be_a_variance(self) -> None:
        scales = {"norm.weight": torch.ones(64), "slope": torch.tensor([0.25])}
        norm = {"bn.weight": torch.ones(64), "bn.running_var": torch.ones(64), "other.weight": torch.ones(32)}
        for seed in (6, 7):
            signs = {name: bool((other < 0).any()) for name, other in {**varied(scales, seed), **varied(norm, seed)}.items()}
            self.assertEqual([signs[name] for name in ("norm.weight", "other.weight", "bn.weight", "bn.running_var")], [seed == 6] * 2 + [False] * 2)
        first, again = (varied(scales, 6)["norm.weight"] for _ in range(2))
        self.assertTrue(torch.equal(first, again) and bool(((first.abs() > 0.49) & (first.abs() < 1.51)).all()))

    def test_what_holds_one_finite_value_holds_others(self) -> None:
        state = Norms().state_dict()
        others = varied(state, 7)
        self.assertEqual(set(others), {"norm.weight", "norm.bias", "norm.running_mean", "norm.running_var", "gate"})
        for name, other in others.items():
            distance = (other - state[name]).abs()
            self.assertTrue(bool((distance >= 0.19).all() and (distance <= 0.51).all()), name)
        self.assertTrue(torch.equal(others["norm.weight"], others["norm.running_var"]), "equal tensors stay equal")
        self.assertFalse(torch.equal(others["gate"], varied(state, 8)["gate"]))

    def test_copies_and_orthogonal_weights_hold_others_each_its_own(self) -> None:
        class Experts(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                first = nn.Linear(16, 9)
                self.experts = nn.ModuleList(copy.deepcopy(first) for _ in range(3))
                self.square, self.high = nn.Parameter(torch.empty(12, 12)), nn.Parameter(torch.empty(40, 10))
                nn.init.orthogonal_(self.square, gain=3.0)
                nn.init.orthogonal_(self.high)
                self.free = nn.Parameter(torch.randn(12, 12))
                self.embedding, self.out = nn.Embedding(16, 16), nn.Linear(16, 16, bias=False)
                nn.init.orthogonal_(self.out.weight)
                self.embedding.weight = self.out.weight

        module = Experts()
        state = module.state_dict()
        copies = {f"experts.{number}.{name}" for number in range(3) for name in ("weight", "bias")}
        self.assertEqual(set(variable(module, state)), copies | {"square", "high"}, "what is tied stays tied")
        self.assertTrue({"embedding.weight", "out.weight"} <= set(dependent(state)), "of a state alone nobody can tell")
        others = other_values(variable(module, state), 7)
        self.assertFalse(torch.equal(others["experts.0.weight"], others["experts.1.weight"]))
        for name, other in others.items():
            distance = (other - state[name]).square().mean().sqrt() / state[name].square().mean().sqrt()
            self.assertTrue(0.06 < distance < 0.15, (name, distance))
        self.assertEqual(varied(state, 7), {}, "none of it was set by hand")
        with built_with(state, 7, BY_VALUE):
            self.assertEqual(len({tuple(part.weight[0].tolist()) for part in Experts().experts}), 1, "what is drawn anew is left alone")

    def test_a_step_of_training_changes_what_is_trained_and_not_tied(self) -> None:
        class Tied(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.embedding, self.out, self.layer = nn.Embedding(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)
                self.embedding.weight = self.out.weight
                self.broken = nn.Parameter(torch.full((3,), torch.nan))

        module = Tied()
        names = [name for name, _parameter in module.named_parameters()]
        self.assertEqual(set(learnt(module, module.state_dict(), [*names, "gone"])), {"out.bias", "layer.weight", "layer.bias"})

    def test_copies_are_told_by_the_order_in_which_they_are_made(self) -> None:
        class Stacked(nn.Module):
            def __init__(self, keeps_first: bool) -> None:
                super().__init__()
                torch.manual_seed(1)
                first = nn.Linear(6, 5)
                # As memory may be by chance that nobody has written yet.
                stale = nn.Parameter(first.weight.detach().clone())
                stale.data.zero_()
                self.layers = nn.ModuleList([first] * keeps_first + [copy.deepcopy(first) for _ in range(2)])
                self.packed = torch.stack([layer.weight.clone() for layer in self.layers]).detach()

        for keeps_first, right in ((False, {BY_VALUE}), (True, {OF_ANY, FIRST_OF_ANY, LAST_OF_ANY})):
            state = {name: tensor.clone() for name, tensor in Stacked(keeps_first).state_dict().items()}
            others = other_values(state, 7)
            wanted = torch.stack([other for name, other in others.items() if name.endswith("weight")])
            for policy in POLICIES:
                with built_with(state, 7, policy):
                    packed = Stacked(keeps_first).packed
                self.assertEqual(torch.equal(packed, wanted), policy in right, (keeps_first, policy))

    def test_repeated_rows_and_sizes_of_rows_hold_others(self) -> None:
        class Layer(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.queries = nn.Parameter(torch.randn(1, 12).repeat(5, 1))
                self.rates = nn.Parameter(torch.log(torch.arange(1.0, 17.0)).repeat(6, 1))
                self.pixels = nn.Parameter(torch.randn(3000, 2, 2).half().repeat_interleave(4, 0))
                self.short = nn.Parameter(torch.randn(5, 3).repeat(2, 1))
                self.layer = nn.utils.parametrizations.weight_norm(nn.Linear(10, 7))
                self.free = nn.Parameter(torch.randn(7, 1))

        module = Layer()
        self.assertEqual(set(variable(module, module.state_dict())), {"queries", "rates", "pixels", "layer.parametrizations.weight.original0"})

    def test_modules_are_built_with_it_under_any_name(self) -> None:
        state = Norms().state_dict()
        others = varied(state, 7)
        with built_with(state, 7, BY_VALUE):
            built, same = OtherNames(), Norms()
        self.assertTrue(torch.equal(built.scale, torch.ones(6)), "a scale of one and a variance of one are the same tensor")
        self.assertTrue(torch.equal(built.shift, torch.zeros(6)))
        self.assertTrue(torch.equal(built.closed, others["gate"]))
        self.assertTrue(torch.equal(built.scratch, torch.zeros(3)), "memory of its own is no state")
        for name, other in others.items():
            self.assertTrue(torch.equal(same.state_dict()[name], other), name)
        self.assertTrue(torch.equal(nn.BatchNorm1d(6).weight, torch.ones(6)), "afterwards all is as it was")
        self.assertTrue(torch.equal(nn.BatchNorm1d(6).running_var, torch.ones(6)))

    def test_what_is_an_identity_or_next_to_nothing_holds_others(self) -> None:
        forget_gate = torch.zeros(64)
        forget_gate[16:32] = 1.0
        signs = torch.where(torch.randn(64, 64) < 0, -1.0, 1.0)
        state = {
            "identity": torch.eye(64), "filter": nn.init.dirac_(torch.empty(16, 16, 3, 3)), "forget_gate": forget_gate, "scale": 1e-6 * torch.randn(64),
            "begun_small": torch.cat([2.5e-4 * torch.randn(63, 64), torch.full((1, 64), 2e-3)]),
            "signs": signs, "mask": (torch.rand(64, 64) < 0.5).float(), "drawn": 0.02 * torch.randn(64, 64), "causal": torch.full((9,), -torch.inf).index_fill(0, torch.tensor(0), 0.0),
        }
        others = varied(state, 3)
        self.assertEqual(set(others), {"identity", "filter", "forget_gate", "scale", "begun_small"})
        for dtype in (torch.bfloat16, torch.float16, torch.float64):
            self.assertEqual(set(varied({name: tensor.to(dtype) for name, tensor in state.items()}, 3)), set(others), dtype)
        for name, other in others.items():
            self.assertTrue(bool(((other - state[name]).abs() > 0.19).all()), name)
            self.assertTrue(torch.equal(other, varied({name: state[name].clone()}, 3)[name]), "both sides come to the same")
        self.assertFalse(torch.equal(varied({"scale": 1e-6 * torch.randn(64)}, 3)["scale"], others["scale"]), "other tensors get others")

    def test_an_identity_is_known_while_a_module_is_built(self) -> None:
        class Packed(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = nn.Linear(64, 64, bias=False)
                nn.init.eye_(self.layer.weight)
                self.packed = self.layer.weight.detach().t().contiguous()

        state = {"weight": torch.eye(64)}
        for policy in POLICIES:
            with built_with(state, 7, policy):
                packed = Packed().packed
            self.assertTrue(torch.equal(packed, varied(state, 7)["weight"].t()), policy)

    def test_what_is_drawn_next_to_nothing_is_known_while_a_module_is_built(self) -> None:
        def made_small(bias: nn.Parameter) -> None:
            with torch.no_grad():
                bias *= 1e-5

        class Packed(nn.Module):
            def __init__(self, begin: object) -> None:
                super().__init__()
                torch.manual_seed(1)
                layer = nn.Linear(8, 64)
                begin(layer.bias)
                self.packed = layer.bias.detach().clone()

        beginnings = (
            lambda bias: nn.init.normal_(bias, std=1e-6), lambda bias: nn.init.trunc_normal_(bias, std=1e-5), lambda bias: nn.init.uniform_(bias, -1e-6, 1e-6),
            lambda bias: bias.data.normal_(0.0, 1e-6), lambda bias: bias.data.mul_(1e-5), lambda bias: bias.data.div_(1e5), made_small,
        )
        for begin in beginnings:
            state = {"bias": Packed(begin).packed}
            for policy in POLICIES:
                with built_with(state, 7, policy):
                    packed = Packed(begin).packed
                self.assertTrue(torch.equal(packed, varied(state, 7)["bias"]), policy)

    def test_what_is_made_more_often_than_there_is_of_it_is_told_by_its_place_in_the_order(self) -> None:
        def folded() -> Tensor:
            mean, spread, scale, shift = torch.zeros(6), torch.ones(6), torch.ones(6), torch.zeros(6)
            scale = scale / spread
            return torch.stack([scale, shift - mean * scale])

        def padded() -> Tensor:
            packed, ones = torch.stack([torch.ones(6), torch.zeros(6)]), torch.ones(6)
            return packed * ones

        def shifted() -> Tensor:
            shift, scale = torch.zeros(6), torch.zeros(6) + 1
            return torch.stack([scale, shift])

        state = {"scale": torch.ones(6), "shift": torch.zeros(6)}
        wanted = torch.stack(list(varied(state, 7).values()))
        for build, right in ((folded, {LAST_OF_ANY}), (padded, {FIRST_OF_ANY}), (shifted, {FIRST_OF_ANY})):
            found = set()
            for policy in POLICIES:
                with built_with(state, 7, policy):
                    packed = build()
                found |= {policy} if torch.equal(packed, wanted) else set()
            self.assertEqual(found, right, build.__name__)

    def test_what_is_no_part_of_a_module_is_known_while_it_is_built(self) -> None:
        class Packed(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                torch.manual_seed(1)
                gate, plain, moved = nn.Parameter(torch.zeros(1)), torch.ones(6), nn.Parameter(torch.rand(9))
                moved.data = torch.zeros(3)
                square = nn.Parameter(torch.empty(12, 12))
                nn.init.orthogonal_(square.data, gain=2.0)
                rates = nn.Parameter(torch.log(torch.arange(1.0, 17.0)).repeat(6, 1))
                layer = nn.utils.parametrizations.weight_norm(nn.Linear(10, 7))
                self.held = [gate.detach(), plain, moved.detach(), square.detach(), rates.detach(), layer.parametrizations.weight.original0.detach()]
                self.packed = layer.weight.detach().t().contiguous()

        own = Packed()
        state = {f"part.{number}": tensor.clone() for number, tensor in enumerate(own.held)}
        others = other_values(state, 7)
        for policy in (BY_VALUE, OF_ANY):
            with built_with(state, 7, policy):
                built = Packed()
                with torch.inference_mode():
                    self.assertTrue(torch.equal(nn.Parameter(torch.zeros(1)), others["part.0"]))
            for number, (tensor, name) in enumerate(zip(built.held, state)):
                self.assertEqual(torch.equal(tensor, others[name]), number != 1 or policy == OF_ANY, (policy, number))
            self.assertFalse(torch.allclose(built.packed, own.packed))

    def test_what_training_changes_is_parameters_and_statistics(self) -> None:
        self.assertEqual(trained(Norms()), {"layer.weight", "layer.bias", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var", "gate"})

    def test_tensors_that_hold_the_same_are_told_by_their_names_as_well(self) -> None:
        class Biases(nn.Module):
            def __init__(self, forgets: bool) -> None:
                super().__init__()
                self.first, self.second = nn.Parameter(torch.zeros(4)), nn.Parameter(torch.zeros(4))
                with torch.no_grad():
                    self.first[:2] = float(forgets)
                self.packed = torch.stack([self.first, self.second]).detach()

        for forgets in (False, True):
            state = Biases(forgets).state_dict()
            wanted = torch.stack([state["first"], varied(state, 5)["second"]])
            for policy in POLICIES:
                with built_with({"second": state["second"]}, 5, policy):
                    packed = Biases(forgets).packed
                right = {BY_NAME, LAST_OF_ANY} | ({BY_VALUE, OF_ANY} if forgets else set())
                self.assertEqual(torch.equal(packed, wanted), policy in right, policy)

    def test_what_memory_holds_before_it_is_filled_takes_nobody_s_place(self) -> None:
        class Zeros(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                # As memory that nobody has written, by chance.
                self.bias = nn.Parameter(torch.zeros(4))
                nn.init.uniform_(self.bias)
                nn.init.zeros_(self.bias)

        state = {"bias": torch.zeros(4)}
        for policy in POLICIES:
            with built_with(state, 5, policy):
                built = Zeros().bias
            self.assertTrue(torch.equal(built, varied(state, 5)["bias"]), policy)

    def test_what_is_filled_or_converted_later_is_replaced_then(self) -> None:
        layer = nn.Linear(4, 4)
        nn.init.zeros_(layer.bias)
        with built_with({"bias": layer.bias.detach()}, 5, BY_VALUE):
            filled = nn.Linear(4, 4)
            filled.bias.data.zero_()
        self.assertTrue(torch.equal(filled.bias, varied({"bias": layer.bias.detach()}, 5)["bias"]))
        attention = nn.MultiheadAttention(4, 2).state_dict()
        biases = {name: attention[name] for name in ("in_proj_bias", "out_proj.bias")}
        for policy in POLICIES:
            with built_with(biases, 5, policy):
                built = nn.MultiheadAttention(4, 2).state_dict()
            for name, other in varied(biases, 5).items():
                self.assertTrue(torch.equal(built[name], other), (policy, name))
        short = nn.LayerNorm(4).to(torch.bfloat16).weight.detach()
        with built_with({"weight": short}, 5, BY_VALUE):
            converted = nn.LayerNorm(4).to(torch.bfloat16)
            nn.utils.skip_init(nn.Linear, 4, 4)
        self.assertFalse(torch.equal(converted.weight, short))


PROBLEM = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(8)
        self.register_buffer("seen", torch.zeros(8))

    def forward(self, x):
        {statement}
        return self.norm(x) + self.seen

def get_inputs():
    return [torch.randn(4, 8)]
"""


def reference(statement: str, device: str) -> tuple[Reference, list]:
    problem, place = Problem(PROBLEM.format(statement=statement), "p"), Device(device)
    made = Reference(problem, [], 1, place)
    inputs = problem.inputs(2, place)
    made.first_run(inputs, lambda: [problem.inputs(seed, place) for seed in (3, 4)])
    return made, inputs


class References(unittest.TestCase):
    def test_it_computes_in_another_state_and_in_its_own_again(self) -> None:
        for device in DEVICES:
            made, inputs = reference("pass", device)
            before = made.run(inputs)[0]
            made.replace_state(varied(made.variable_state(), 3))
            other = made.run(inputs)[0]
            self.assertFalse(agree(before, other))
            self.assertTrue(torch.equal(made.initial_state()["norm.weight"].cpu(), torch.ones(8)), "its own state is still known")
            made.replace_state({})
            self.assertTrue(torch.equal(made.run(inputs)[0], before))

    def test_another_draw_tells_what_a_few_elements_hold_by_chance(self) -> None:
        drawn = """
        self.number = torch.nn.Parameter(torch.rand(1))
        self.near_zero = torch.nn.Parameter(1e-5 * torch.randn(3))
        self.scale = torch.nn.Parameter(torch.tensor(1 / 0.07).log())
        self.short = torch.nn.Parameter(torch.tensor([1e-6], dtype=torch.bfloat16))
        self.slope = torch.nn.PReLU(3)
        self.gates = torch.nn.Parameter(1e-5 * torch.randn(64))
"""
        source = PROBLEM.format(statement="pass").replace("        self.register_buffer", drawn + "        self.register_buffer")
        made = Reference(Problem(source, "p"), [], 1, Device("cpu"))
        self.assertTrue({"number", "near_zero"} <= set(varied(made.initial_state(), 3)), "of one draw alone nobody can tell")
        self.assertEqual(set(made.variable_state()), {"norm.weight", "norm.bias", "scale", "short", "slope.weight", "gates"})
        self.assertTrue(0.19 < float(varied(made.variable_state(), 1)["short"]) < 0.51, "what is next to nothing comes to count")

    def test_a_state_that_goes_from_call_to_call_is_noticed(self) -> None:
        for device in DEVICES:
            for statement, carries in (("pass", False), ("self.seen.add_(x.mean(0))", True), ("self.seen.copy_(x.mean(0))", False)):
                self.assertEqual(reference(statement, device)[0].carries_state, carries, statement)


if __name__ == "__main__":
    unittest.main()
