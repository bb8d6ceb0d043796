"""Kinds of problems, end to end in real workers: several sets of inputs, functions, numpy, training, in-place contracts."""

from __future__ import annotations

import importlib.util
import os
import unittest
from unittest import mock

from support import Failed, WorkerCase  # isort: skip - it finds the package

import numpy as np
import torch

from kernelwright_worker import problem
from kernelwright_worker.forms import Numpy

MODEL = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x, y):
        return x * 2 + y
"""
HONEST = MODEL.replace("Model", "ModelNew")
SHAPES = MODEL + """
SHAPES = [(4, 8), (64, 3), "half"]

def get_inputs(rows, columns=None):
    if rows == "half":
        return [torch.randn(16, dtype=torch.float16), torch.randn(16, dtype=torch.float16)]
    return [torch.randn(rows, columns), torch.randn(rows, columns)]
"""
LISTED = MODEL + """
def get_inputs_list():
    return [[torch.randn(n), torch.randn(n)] for n in (3, 5)]
"""


class Texts(unittest.TestCase):
    def test_only_sorting_that_promises_no_order_leaves_ties_open(self) -> None:
        for text in ("x.argsort(-1)", "torch.sort(x, stable=False)", "x.topk(4)", "np.argsort(x)", "x.sort().values", "x.sort(stable=True)\ny.median()"):
            self.assertIsNotNone(problem._ORDERS.search(text), text)
        for text in ("torch.argsort(f(x), dim=-1, stable=True)", "x.sort(stable=True)", 'np.argsort(x, kind="stable")', "x.argmax()", "resort(x)"):
            self.assertIsNone(problem._ORDERS.search(text), text)


class SeveralSets(WorkerCase):
    def test_every_set_is_drawn_run_and_described(self) -> None:
        trusted, untrusted = self.start("trusted"), self.start("untrusted")
        loaded = self.prepare(trusted, untrusted, SHAPES, HONEST, "cpu")
        self.assertEqual(loaded["sets"], ["(4, 8)", "(64, 3)", "half"])
        self.assertEqual(loaded["inputs"], ["float32[4, 8]"] * 2)
        for index, expected in ((1, "float32[64, 3]"), (2, "float16[16]"), (0, "float32[4, 8]")):
            facts = trusted.ask("select", set=index)
            self.assertEqual((facts["inputs"], facts["outputs"]), ([expected] * 2, [expected]))
            for entry, kind in enumerate(("problem", "scaled", "structured")):
                self.assertEqual(self.trial(trusted, untrusted, entry, kind).get("mismatches"), [])

    def test_a_list_of_inputs_makes_sets_without_names(self) -> None:
        trusted = self.start("trusted")
        loaded, _fds = self.load(trusted, LISTED, "cpu")
        self.assertEqual((loaded["sets"], loaded["inputs"]), (["", ""], ["float32[3]"] * 2))
        self.assertEqual(trusted.ask("select", set=1)["inputs"], ["float32[5]"] * 2)

    def test_a_problem_of_the_usual_form_has_one_set(self) -> None:
        loaded, _fds = self.load(self.start("trusted"), MODEL + "def get_inputs():\n    return [torch.randn(3), torch.randn(3)]\n", "cpu")
        self.assertEqual(loaded["sets"], [""])

    def test_a_deep_check_takes_the_smallest_set_and_leaves_the_selected_one(self) -> None:
        trusted = self.start("trusted")
        self.load(trusted, SHAPES, "cpu")
        trusted.ask("select", set=1)
        reply, _fds = trusted.request("check_inputs", seed=3)
        self.assertEqual((reply["label"], [entry["shape"] for entry in reply["tensors"]]), ("half", [[16], [16]]))
        drawn, _fds = trusted.request("draw", entry=0, seed=3, kind="problem")
        self.assertEqual([entry["shape"] for entry in drawn["tensors"]], [[64, 3], [64, 3]])

    def test_a_problem_may_offer_inputs_for_the_deep_check(self) -> None:
        trusted, check = self.start("trusted"), self.start("check")
        offered = SHAPES + "\ndef get_check_inputs():\n    return get_inputs(2, 2)\n"
        self.prepare(trusted, check, offered, HONEST.replace("return", "assert x.shape == (2, 2); return"), "cpu")
        reply, fds = trusted.request("check_inputs", seed=3)
        self.assertEqual((reply["label"], [entry["shape"] for entry in reply["tensors"]]), ("get_check_inputs()", [[2, 2], [2, 2]]))
        self.assertEqual(check.ask("check", fds, inputs=reply["inputs"], tensors=reply["tensors"]), {})
        with self.assertRaises(Failed) as raised:
            check.ask("run", entry=0, poison=False)
        self.assertEqual(raised.exception.error["kind"], "internal")

    def test_inputs_for_the_deep_check_that_the_reference_does_not_take_are_the_problems_mistake(self) -> None:
        trusted = self.start("trusted")
        self.load(trusted, SHAPES + "\ndef get_check_inputs():\n    return [torch.randn(2)]\n", "cpu")
        with self.assertRaises(Failed) as raised:
            trusted.request("check_inputs", seed=3)
        self.assertEqual(raised.exception.error["kind"], "problem_run")

    def test_a_function_without_arguments_has_its_own_use_for_shapes(self) -> None:
        own = MODEL + "SHAPES = [(4, 8), (4, 1)]\n\ndef get_inputs():\n    return [torch.randn(shape) for shape in SHAPES]\n"
        loaded, _fds = self.load(self.start("trusted"), own, "cpu")
        self.assertEqual((loaded["sets"], loaded["inputs"]), ([""], ["float32[4, 8]", "float32[4, 1]"]))

    def test_the_set_is_named_that_does_not_run(self) -> None:
        trusted = self.start("trusted")
        self.load(trusted, MODEL + "SHAPES = [(4, 8), (4, 0)]\ndef get_inputs(n, m):\n    return [torch.ones(n, 1) / m if m else None] * 2\n", "cpu")
        with self.assertRaises(Failed) as raised:
            trusted.ask("select", set=1)
        self.assertIn("with the set of inputs (4, 0)", raised.exception.error["message"].splitlines()[0])

    def test_sets_that_are_none_are_refused(self) -> None:
        for source in (MODEL + "SHAPES = []\ndef get_inputs(n): return []\n", MODEL + "def get_inputs_list(): return []\n", MODEL + "SHAPES = [1]\n"):
            with self.assertRaises(Failed) as raised:
                self.load(self.start("trusted"), source, "cpu")
            self.assertEqual(raised.exception.error["kind"], "problem_shape")


NUMPY = """
import numpy as np

def reference(x, scale):
    y = x * scale
    return {"sum": y.sum(axis=0), "first": y[::-1][0], "count": np.int64(y.shape[0])}

def get_inputs():
    return [np.random.randn(64, 8).astype(np.float32), 2.0]
"""
NUMPY_CLASS = """
import numpy as np

class Model:
    def __init__(self, weight):
        self.weight = weight
    def __call__(self, x):
        return x @ self.weight

def get_inputs():
    return [np.random.randn(4, 8)]

def get_init_inputs():
    return [np.random.randn(8, 3)]
"""
TRAINING = """
import torch
from torch import nn

backward = True

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 4)
        self.frozen = nn.Parameter(torch.ones(4), requires_grad=False)
    def forward(self, x, index):
        return torch.tanh(self.linear(x[index])) * self.frozen, index + 1

def get_inputs():
    return [torch.randn(16, 8), torch.randint(0, 16, (5,))]
"""
BY_HAND = """
import torch
from torch import nn

class Step(torch.autograd.Function):
    @staticmethod
    def forward(context, x, index, weight, bias):
        y = torch.tanh(x[index] @ weight.t() + bias)
        context.save_for_backward(x, index, weight, y)
        return y
    @staticmethod
    def backward(context, upstream):
        x, index, weight, y = context.saved_tensors
        inner = upstream * (1 - y * y)
        rows = torch.zeros_like(x).index_add_(0, index, inner @ weight)
        return rows, None, inner.t() @ x[index], inner.sum(0) * FACTOR

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 4)
        self.frozen = nn.Parameter(torch.ones(4), requires_grad=False)
    def forward(self, x, index):
        return Step.apply(x, index, self.linear.weight, self.linear.bias), index + 1
"""
IN_PLACE = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x, state):
        state.mul_(0.5).add_(x)
        return state.sum()

def get_inputs():
    return [torch.randn(64), torch.randn(64)]
"""


WRITTEN = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x, out):
        out.copy_(x.mean(dim=0) * self.scale)

def get_inputs():
    return [torch.rand(4096, 4), torch.zeros(4)]
"""
ROUNDED = """import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return (x * 1.1).to(torch.DTYPE)
def get_inputs():
    return [torch.randn(16, 8)]
def get_init_inputs():
    return []
"""

PENDING = """import torch
class Model(torch.nn.Module):
    def forward(self, x, y):
        assert not (x.is_conj() or y.is_neg())
        return x * y
def get_inputs():
    x = torch.randn(16, 8, dtype=torch.complex64).conj()
    return [x, x.imag]
"""


class MovingState(WorkerCase):
    PROBLEM = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("largest", torch.zeros(()))
        self.register_buffer("table", torch.zeros(4))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.mean.lerp_(x.mean(0), 0.1)
        self.largest.copy_(torch.maximum(self.largest, x.max()))
        self.table.copy_(torch.arange(4.0))
        self.calls += 1
        return x - x.mean(0) + self.table

def get_inputs():
    return [torch.randn(16, 4) + 1]
"""

    def moving(self, problem: str) -> list[str]:
        loaded, _fds = self.load(self.start("trusted"), problem, "cpu")
        return list(loaded["moving"])

    def test_what_every_call_moves_is_known_and_what_the_first_makes_is_not_among_it(self) -> None:
        self.assertEqual(self.moving(self.PROBLEM), ["largest", "mean"])

    def test_what_outputs_show_is_not_looked_for_in_the_module(self) -> None:
        self.assertEqual(self.moving(self.PROBLEM.replace("+ self.table", "+ self.mean")), [])

    def test_a_candidate_is_compared_by_what_its_first_call_has_left_also_where_it_is_trained(self) -> None:
        for form in ("", "backward = True\n"):
            problem = form + self.PROBLEM
            honest = problem.replace("Model(", "ModelNew(")
            self.assertEqual(self.left_behind(problem, honest), [])
            self.assertEqual(self.left_behind(problem, honest.replace("0.1)", "0.2)")), ['state["mean"]'])
            # Whoever keeps it under another name is not asked.
            self.assertEqual(self.left_behind(problem, honest.replace("mean\"", "average\"").replace("self.mean.", "self.average.")), [])

    def left_behind(self, problem: str, candidate: str) -> list[str]:
        """The buffers that differ after a first call."""
        trusted, untrusted = self.start("trusted"), self.start("untrusted")
        loaded = self.prepare(trusted, untrusted, problem, candidate, "cpu")
        self.assertEqual(self.trial(trusted, untrusted, 0)["mismatches"], [])
        state = untrusted.ask("state", names=loaded["moving"])
        untrusted.stop()
        try:
            fd = untrusted.read(state["tensors"])
        finally:
            untrusted.resume()
        compared = trusted.ask("compare_state", [fd], outputs=state["outputs"], tensors=state["tensors"])
        os.close(fd)
        return [mismatch["output"] for mismatch in compared["mismatches"]]


class Forms(WorkerCase):
    def mismatches(self, problem: str, candidate: str, kinds: tuple[str, ...] = ("problem", "scaled", "structured")) -> list[str]:
        """The outputs that differ, over several draws."""
        trusted, untrusted = self.start("trusted"), self.start("untrusted")
        self.prepare(trusted, untrusted, problem, candidate, "cpu")
        found: list[str] = []
        for entry, kind in enumerate(kinds):
            result = self.trial(trusted, untrusted, entry, kind)
            found += [mismatch["output"] for mismatch in result.get("mismatches", [])]
        return found

    def test_a_numpy_function_is_judged_with_a_function(self) -> None:
        honest = 'def kernel(x, scale):\n    return {"sum": (x * scale).sum(axis=0), "first": x[-1] * scale, "count": len(x)}\n'
        self.assertEqual(self.mismatches(NUMPY, NUMPY + "kernel = reference\n"), [])
        self.assertEqual(self.mismatches(NUMPY, honest), [], "an int of Python's is as good as one of numpy's")
        self.assertEqual(set(self.mismatches(NUMPY, honest.replace("len(x)", "float(len(x))"))), {'output["count"]'}, "a float is none")
        self.assertEqual(set(self.mismatches(NUMPY, NUMPY + "def kernel(x, scale):\n    return reference(x, 1.0)\n")), {'output["sum"]', 'output["first"]'})

    def test_numbers_of_either_kind_are_as_good_as_each_other(self) -> None:
        problem = """
import numpy as np

def reference(x):
    return float(x.mean()), int((x > 0).sum()), bool(x.any())

def get_inputs():
    return [np.random.randn(40)]
"""
        numpys = "def kernel(x):\n    return x.mean(), (x > 0).sum(), x.any()\n"
        self.assertEqual(self.mismatches(problem, "import numpy as np\n" + numpys), [])
        self.assertEqual(set(self.mismatches(problem, numpys.replace("x.any()", "x.any().astype(int)"))), {"output[2]"})

    def test_what_a_call_puts_into_a_dict_is_looked_for_there(self) -> None:
        problem = """
import torch

def reference(x, state):
    state["sum"] = state["sum"] + x
    state["pair"][0], state["pair"][1] = state["pair"][1], state["pair"][0]
    return x * 2

def get_inputs():
    return [torch.randn(8, 4), {"sum": torch.randn(8, 4), "pair": [torch.randn(3), torch.randn(3)]}]
"""
        honest = problem.replace("reference", "kernel")
        self.assertEqual(self.mismatches(problem, honest), [])
        self.assertEqual(self.mismatches(problem, honest.replace('state["sum"] = state["sum"] + x', 'state["sum"] += x')), [])
        self.assertEqual(set(self.mismatches(problem, honest.replace('state["sum"] + x', 'state["sum"] - x'))), {'input[1] after the call["sum"]'})
        trusted, untrusted = self.start("trusted"), self.start("untrusted")
        self.prepare(trusted, untrusted, problem, honest.replace("+ x", "+ x * 1.00002"), "cpu")
        self.assertGreater(self.trial(trusted, untrusted, 0, "problem")["error_over_tolerance"], 0.05, "what is written is told like outputs")
        swap = '    state["pair"][0], state["pair"][1] = state["pair"][1], state["pair"][0]\n'
        self.assertEqual(
            set(self.mismatches(problem, honest.replace(swap, ""))), {'input[1] after the call["pair"][0]', 'input[1] after the call["pair"][1]'}
        )

    def test_a_list_that_grows_in_a_call_is_not_supported(self) -> None:
        for change in ("cache.append(x)", "cache[0] = torch.cat([cache[0], x])", "cache[1] += 1"):
            problem = f"import torch\n\ndef reference(x, cache):\n    {change}\n    return x * 2\n\ndef get_inputs():\n    return [torch.randn(4), [torch.randn(4), 3]]\n"
            with self.assertRaises(Failed) as failed:
                self.load(self.start("trusted"), problem, "cpu")
            self.assertEqual(failed.exception.error["kind"], "unsupported", change)

    def test_named_tuples_of_arrays_are_tuples(self) -> None:
        problem = """
import numpy as np

def reference(a):
    return np.linalg.qr(a)

def get_inputs():
    return [np.random.randn(8, 4)]
"""
        self.assertEqual(self.mismatches(problem, problem.replace("reference", "kernel")), [])

    def test_what_a_numpy_function_writes_into_copies_of_its_inputs_is_written_back(self) -> None:
        def add(x: np.ndarray, out: np.ndarray) -> None:
            np.add(x, x, out=out)

        adapter = Numpy(add, torch.device("cuda"))
        for value in (1.0, 2.0):
            x, out = torch.full((3,), value), torch.zeros(3)
            # As from a GPU.
            with mock.patch.object(torch.Tensor, "cpu", lambda tensor: tensor.clone()):
                self.assertIsNone(adapter(x, out))
            self.assertEqual((x.tolist(), out.tolist()), ([value] * 3, [2 * value] * 3))

    def test_a_reference_may_round_its_results_itself(self) -> None:
        for dtype in ("bfloat16", "float16"):
            problem = ROUNDED.replace("DTYPE", dtype)
            self.assertEqual(self.mismatches(problem, problem.replace("class Model", "class ModelNew")), [])

    def test_conjugations_and_negations_are_done_before_anybody_gets_inputs(self) -> None:
        self.assertEqual(self.mismatches(PENDING, PENDING.replace("class Model", "class ModelNew")), [])

    def test_a_triton_kernel_is_no_entry_point(self) -> None:
        if importlib.util.find_spec("triton") is None:
            self.skipTest("needs Triton")
        with self.assertRaises(Failed) as raised:
            self.mismatches(NUMPY, "import triton\n@triton.jit\ndef kernel(x):\n    pass\n")
        self.assertEqual(raised.exception.error["kind"], "no_model_new")

    def test_a_plain_class_gets_its_arguments_as_arrays(self) -> None:
        self.assertEqual(self.mismatches(NUMPY_CLASS, NUMPY_CLASS + "ModelNew = Model\n"), [])

    def test_gradients_of_inputs_and_parameters_are_compared(self) -> None:
        self.assertEqual(self.mismatches(TRAINING, BY_HAND.replace("FACTOR", "1")), [])
        self.assertEqual(set(self.mismatches(TRAINING, BY_HAND.replace("FACTOR", "2"), ("problem",))), {'output["parameter_gradients"]["linear.bias"]'})
        forward_only = TRAINING.replace("Model", "ModelNew").replace("self.linear(x[index])", "self.linear(x[index]).detach()")
        wrong = self.mismatches(TRAINING, forward_only, ("problem",))
        self.assertEqual(set(wrong), {'output["input_gradients"][0]', *(f'output["parameter_gradients"]["linear.{name}"]' for name in ("weight", "bias"))})

    def test_a_training_problem_is_compiled_and_timed_with_both_passes(self) -> None:
        trusted = self.start("trusted")
        loaded, _fds = self.load(trusted, TRAINING, "cpu")
        self.assertIn("ranged", loaded["more_draws"], "the range of its indices is known beside a gradient from above")
        trusted.ask("draw", entry=0, seed=1, kind="problem")
        for kind in ("eager", "compile"):
            trusted.ask("baseline", kind=kind, limit_s=120)
            trusted.ask("place", entries=[{"entry": 1000 + i, "base": 0, "recipe": {"scale": 1.5, "roll": i}} for i in range(3)])
            self.assertGreater(trusted.ask("time", kind=kind)["inner_ns"], 0)

    def test_a_step_of_training_changes_what_is_trained_beside_what_has_changed_before(self) -> None:
        trusted = self.start("trusted")
        self.load(trusted, TRAINING, "cpu")
        trusted.request("draw", entry=0, seed=3, kind="problem")
        learnt = {"names": ["linear.bias", "linear.weight"]}
        self.assertEqual(trusted.ask("vary", seed=4), {"names": ["frozen"]})
        self.assertEqual(trusted.ask("vary", seed=4, beside=["frozen"]), learnt)
        self.assertEqual(trusted.ask("vary", seed=None), {"names": []})
        self.assertEqual(trusted.ask("vary", seed=4, beside=[]), learnt)

    def test_a_problem_that_writes_into_its_inputs_asks_for_the_same(self) -> None:
        candidate = IN_PLACE.replace("Model", "ModelNew")
        self.assertEqual(self.mismatches(IN_PLACE, candidate), [])
        apart = candidate.replace("state.mul_(0.5).add_(x)", "state = state * 0.5 + x")
        self.assertEqual(set(self.mismatches(IN_PLACE, apart)), {"input[1] after the call"})

    def test_what_is_written_into_an_input_counts_as_an_output(self) -> None:
        trusted = self.start("trusted")
        loaded, _fds = self.load(trusted, WRITTEN, "cpu")
        self.assertIn("uneven", loaded["more_draws"])
        self.assertEqual(loaded["more_draws"].count("spiked"), 2, "a look at a few elements may meet a far larger one once")
        self.assertEqual(loaded["more_draws"].count("sifted"), 1)
        trusted.request("draw", entry=0, seed=3, kind="problem")
        self.assertEqual(trusted.ask("vary", seed=3), {"names": ["scale"]})


if __name__ == "__main__":
    import unittest

    unittest.main()
