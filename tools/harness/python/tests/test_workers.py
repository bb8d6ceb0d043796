"""Both roles end to end, as real processes: the steps of an evaluation over the real channel."""

from __future__ import annotations

import os

from support import DEVICES, Failed, WorkerCase

from kernelwright_worker import draws

PROBLEM = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.register_buffer("offset", torch.randn(n))

    def forward(self, x):
        return torch.relu(self.linear(x) + self.offset)

def get_inputs():
    return [torch.randn(64, 32)]

def get_init_inputs():
    return [32]
"""
INPUTS = "def get_inputs():\n    return [torch.randn(64, 32)]\n"
CANDIDATE = """
import torch
from torch import nn

class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.register_buffer("offset", torch.zeros(n))

    def forward(self, x):
        y = x @ self.linear.weight.t()
        BODY
"""
HONEST = CANDIDATE.replace("BODY", "return y.add_(self.linear.bias + self.offset).clamp_min_(0)")


def candidate(body: str) -> str:
    return CANDIDATE.replace("BODY", body)


class Evaluation(WorkerCase):
    def test_an_honest_candidate_passes_every_draw_and_its_timed_calls(self) -> None:
        for device in DEVICES:
            with self.subTest(device):
                trusted, untrusted = self.start("trusted"), self.start("untrusted")
                loaded = self.prepare(trusted, untrusted, PROBLEM, HONEST, device)
                self.assertEqual(loaded["inputs"], ["float32[64, 32]"])
                self.assertIsNone(loaded["degenerate"])
                self.assertEqual(loaded["constructed"]["unmatched"], [])
                for entry, kind in enumerate(["problem", "scaled", "small", "shifted", "structured", "special"]):
                    result = self.trial(trusted, untrusted, entry, kind)
                    self.assertEqual(result.get("mismatches"), [], (kind, result))
                self.assert_timed_calls_match(trusted, untrusted)
                self.assertEqual((trusted.close(), untrusted.close()), (0, 0))

    def assert_timed_calls_match(self, trusted, untrusted) -> None:
        self.give(trusted, untrusted, 0)
        trusted.ask("baseline", kind="eager", limit_s=60)
        entries = [{"entry": 100 + i, "base": 0, "recipe": {"scale": 1.0 - 0.1 * i, "roll": i}} for i in range(3)]
        for worker in (trusted, untrusted):
            worker.ask("place", entries=entries)
        self.assertGreater(trusted.ask("time", kind="eager")["inner_ns"], 0)
        self.assertGreater(untrusted.ask("time")["inner_ns"], 0)
        untrusted.ask("place", entries=entries)
        untrusted.ask("time")
        held = untrusted.ask("held")
        untrusted.stop()
        for item, (form, *addresses) in zip(entries, held["calls"]):
            tensors = [
                {**tensor, "memory": self.memory(held, tensor, address)} for tensor, address in zip(held["forms"][form]["tensors"], addresses)
            ]
            fd = untrusted.read(tensors)
            call = {"outputs": held["forms"][form]["outputs"], "tensors": tensors, "after": None}
            verified = trusted.ask("verify", [fd], calls=[{**item, **call}])["comparisons"]
            self.assertEqual([result["mismatches"] for result in verified], [[]])
            other = {**item, "recipe": {"scale": 0.5, "roll": 0}, **call}
            self.assertNotEqual(trusted.ask("verify", [fd], calls=[other])["comparisons"][0]["mismatches"], [])
            os.close(fd)
        untrusted.resume()

    def test_a_timed_call_may_have_a_draw_of_its_own(self) -> None:
        for device in DEVICES:
            with self.subTest(device):
                trusted, untrusted = self.start("trusted"), self.start("untrusted")
                self.prepare(trusted, untrusted, PROBLEM, HONEST, device)
                self.give(trusted, untrusted, 0)
                self.assertGreater(trusted.ask("redraw", entry=0, seed=5)["ns"], 0)
                # The draw of this entry has the seed 1001.
                self.give(trusted, untrusted, 1)
                ran = untrusted.ask("run", entry=1)
                untrusted.stop()
                fd = untrusted.read(ran["tensors"])
                mismatches = []
                for seed in (1001, 1002):
                    call = {"base": 0, "recipe": {"draw": seed}, "outputs": ran["outputs"], "tensors": ran["tensors"], "after": None}
                    mismatches.append(len(trusted.ask("verify", [fd], calls=[call])["comparisons"][0]["mismatches"]))
                self.assertEqual(mismatches, [0, 1])
                os.close(fd)
                untrusted.resume()

    def test_draws_that_cannot_be_made_again_are_nobody_s_own(self) -> None:
        trusted = self.start("trusted")
        for changes in ("torch.randn(64, 32) * int.from_bytes(os.urandom(2))", "torch.randn(torch.randint(9000, ()).item(), 32)"):
            self.load(trusted, "import os\n" + PROBLEM.replace("torch.randn(64, 32)", changes), "cpu")
            trusted.request("draw", entry=0, seed=1, kind="problem")
            self.assertIsNone(trusted.ask("redraw", entry=0, seed=5)["ns"])

    @staticmethod
    def memory(held, tensor, address: int) -> dict:
        if tensor["device"] == "cpu":
            return {"host": {"address": address}}
        block = next(block for block in held["blocks"] if 0 <= address - block["address"] < block["nbytes"])
        return {"cuda_ipc": {"handle": block["handle"], "handle_offset": address - block["address"], "device": block["device"]}}

    def test_wrong_candidates_are_told_what_is_wrong(self) -> None:
        cases = {
            "return torch.zeros_like(y)": "they are zero",
            "return torch.empty_like(y)": "elements differ",
            "return (y + self.linear.bias + self.offset).relu().half()": "dtype float16, expected float32",
            "return (y + self.linear.bias + self.offset).relu().bfloat16().float()": "elements differ",
            "return (y + self.linear.bias + self.offset).relu()[:63]": "shape [63, 32], expected [64, 32]",
            "return ((y + self.linear.bias + self.offset).relu(),)": "tuple of 1, expected a tensor float32[64, 32]",
            "x += 1; return ((x - 1) @ self.linear.weight.t() + self.linear.bias + self.offset).relu()": "changed, which the reference does not do",
        }
        for device in DEVICES:
            trusted, untrusted = self.start("trusted"), self.start("untrusted")
            for body, detail in cases.items():
                with self.subTest(device=device, body=body):
                    self.prepare(trusted, untrusted, PROBLEM, candidate(body), device)
                    mismatches = self.trial(trusted, untrusted, 0)["mismatches"]
                    self.assertTrue(mismatches)
                    self.assertIn(detail, mismatches[0]["detail"])

    def test_what_goes_wrong_in_a_candidate_is_reported_with_its_phase(self) -> None:
        module = "from torch import nn\nimport torch\nclass ModelNew(nn.Module):\n"
        cases = [
            ("import nothing_of_that_name", "import", "ModuleNotFoundError"),
            ("x = (", "import", "SyntaxError"),
            ("raise SystemExit(0)", "import", "SystemExit"),
            ("class Silent(Exception):\n    def __str__(self): raise SystemExit\nraise Silent", "import", "Silent: its message cannot be had"),
            ("raise RuntimeError('in a file that is called caf\\udce9.cpp')", "import", "caf?.cpp"),
            ("x = 1", "no_model_new", "defines no class"),
            (module + "    def __init__(self): pass", "construct", "TypeError"),
            (module + "    def __init__(self, n): raise KeyboardInterrupt", "construct", "KeyboardInterrupt"),
            (candidate("return y @ y"), "run", "RuntimeError"),
            (candidate("raise SystemExit(0)"), "run", "SystemExit"),
            (candidate("return y.to_sparse()"), "output_type", "layout"),
            (candidate("return torch.empty(3, device='meta')"), "output_type", "on meta"),
            (candidate("return object()"), "output_type", "object"),
            (candidate("return type('Lazy', (torch.Tensor,), {})(y)"), "output_type", "subclass"),
        ]
        trusted, untrusted = self.start("trusted"), self.start("untrusted")
        for source, kind, text in cases:
            with self.subTest(text=text, kind=kind), self.assertRaises(Failed) as caught:
                self.prepare(trusted, untrusted, PROBLEM, source, "cpu")
                self.trial(trusted, untrusted, 0)
            self.assertEqual(caught.exception.error["kind"], kind)
            self.assertIn(text, caught.exception.error["message"])
            self.assertNotIn("kernelwright_worker", caught.exception.error["traceback"])

    def test_layouts_and_values_of_every_kind_travel(self) -> None:
        problem = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x, index, flag, options):
        wide = x[:, :1].expand(-1, 5)
        values, places = x.max(dim=1)
        x.mul_(options["factor"])
        return {"t": x.t(), "wide": wide * 1, "max": (values, places), "flag": flag ^ True, "none": None, "empty": x[:0],
                "mean": float(x.mean()), "n": int(index[0]), "conj": torch.complex(x, x).conj(), "dot": x.sum(), "rows": x[index]}

def get_inputs():
    return [torch.randn(4, 6).t(), torch.randint(0, 6, (3,)), torch.tensor([True, False]), {"factor": 2.0}]
"""
        source = problem.replace("class Model(", "class ModelNew(").split("def get_inputs")[0]
        for device in DEVICES:
            with self.subTest(device):
                trusted, untrusted = self.start("trusted"), self.start("untrusted")
                loaded = self.prepare(trusted, untrusted, problem, source, device)
                self.assertEqual(loaded["inputs"][0], "float32[6, 4] strides [1, 6]")
                self.assertEqual(self.trial(trusted, untrusted, 0)["mismatches"], [])
                wrong = source.replace("flag ^ True", "flag").replace("int(index[0])", "-1").replace("x.mul_", "x = x.mul")
                self.prepare(trusted, untrusted, problem, wrong, device)
                outputs = {item["output"] for item in self.trial(trusted, untrusted, 0)["mismatches"]}
                self.assertEqual(outputs, {'output["wide"]', 'output["flag"]', 'output["n"]', "input[0] after the call"})


    def test_the_interpreter_runs_what_is_autotuned_and_multiplies_bfloat16(self) -> None:
        problem = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, a, b):
        return a.float() @ b.float()

def get_inputs():
    return [torch.randn(16, 16).bfloat16(), torch.randn(16, 16).bfloat16()]
"""
        source = """
import torch, triton
import triton.language as tl
from torch import nn

@triton.autotune(configs=[triton.Config({}, num_warps=2), triton.Config({}, num_warps=4)], key=["N"])
@triton.jit
def product(a, b, c, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))

class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.empty(16, 16, device=a.device)
        product[(1,)](a, b, c, N=16)
        return c
"""
        trusted, untrusted = self.start("trusted"), self.start("untrusted", TRITON_INTERPRET="1")
        if untrusted.ready["triton"] is None:
            self.skipTest("triton is not installed")
        self.prepare(trusted, untrusted, problem, source, "cpu")
        self.assertEqual(self.trial(trusted, untrusted, 0)["mismatches"], [])


class Problems(WorkerCase):
    def test_broken_problems_are_told_apart(self) -> None:
        trusted = self.start("trusted")
        forward = "from torch import nn\nimport torch\nclass Model(nn.Module):\n    def forward(self, x): return x @ x\n"
        cases = [
            ("import nothing_of_that_name", "problem_import"),
            ("def get_inputs(): return []", "problem_shape"),
            (forward, "problem_shape"),
            (forward + "def get_inputs(): return torch.zeros(2)", "problem_shape"),
            (forward + "def get_inputs(): return [torch.zeros(2, 3)]", "problem_run"),
            (forward + "def get_inputs(): return [object()]", "unsupported"),
            (forward + "def get_inputs():\n    own = []\n    own.append(own)\n    return [own]", "unsupported"),
            (forward + "class Silent(Exception):\n    def __str__(self): raise self\ndef get_inputs(): raise Silent", "problem_run"),
            (forward + "def get_inputs(): raise ValueError('\\udcff')", "problem_run"),
        ]
        for source, kind in cases:
            with self.subTest(kind), self.assertRaises(Failed) as caught:
                self.load(trusted, source, "cpu")
            self.assertEqual(caught.exception.error["kind"], kind)
        with self.assertRaises(Failed) as caught:
            self.load(trusted, PROBLEM, "cuda:99")
        self.assertEqual(caught.exception.error["kind"], "device")

    def test_problems_that_decide_little_are_found(self) -> None:
        trusted = self.start("trusted")
        shell = "from torch import nn\nimport torch\nclass Model(nn.Module):\n    def forward(self, x): return {}\ndef get_inputs(): return [torch.rand(64)]\n"
        cases = (
            ("torch.softmax(x, 0).sum()", "equal within tolerance"),
            ("x + torch.rand(64)", "for equal inputs"),
            ("x + 1, (x.view(2, 32) >= 0).any(1)", "tensor 2 of the outputs holds one value"),
            # Whatever the scale of the inputs the first tensor is the same, and the second one is nearly.
            ("x / x.norm(), torch.ones(9) + (x.sum() < 3) * 1e-6", ""),
        )
        for body, text in cases:
            with self.subTest(body):
                loaded, fds = self.load(trusted, shell.format(body), "cpu")
                os.close(fds[0])
                self.assertIn(text, loaded["degenerate"] or "")
                self.assertEqual(bool(text), bool(loaded["degenerate"]))

    def test_inputs_ask_for_gradients_where_the_problem_says_so(self) -> None:
        trusted = self.start("trusted")
        model = "import torch\nfrom torch import nn\nclass Model(nn.Module):\n    def forward(self, x): return x.sin()\ndef get_inputs(): return [{}]\n{}\n"
        asking = "torch.randn(8, requires_grad=True)"
        for drawn, said, left_open in (
            (asking, "", True),
            (asking, "backward = False", False),
            (asking, "backward = True", False),
            (f"{asking} * 2", "", False),
            ("nn.Parameter(torch.randn(8))", "", False),
            ("torch.randn(8)", "", False),
        ):
            with self.subTest(drawn, said=said):
                loaded, fds = self.load(trusted, model.format(drawn, said), "cpu")
                os.close(fds[0])
                self.assertEqual(loaded["leaves_gradients_open"], left_open)

    def test_no_step_imports_what_only_compilers_need(self) -> None:
        # Torch imports sympy, which takes longer than all steps together, where some of its functions check their arguments.
        refuse = (
            "import sys, torch\nfrom torch import nn\nclass Refuse:\n    def find_spec(self, name, path=None, target=None):\n"
            "        if name == 'sympy': raise RuntimeError('sympy is imported')\nsys.meta_path.insert(0, Refuse())\n"
        )
        forward = "    def forward(self, x, i, m): return (x * m).sum(0)[i].exp(), x.argmax()\n"
        draw = "def get_inputs(): return [torch.rand(9, 64), torch.randint(64, (8,)), torch.randint(2, (9, 64)).bool()]\n"
        problem = f"{refuse}class Model(nn.Module):\n{forward}{draw}"
        trusted, untrusted = self.start("trusted"), self.start("untrusted")
        self.prepare(trusted, untrusted, problem, f"import torch\nfrom torch import nn\nclass ModelNew(nn.Module):\n{forward}", "cpu")
        for entry, kind in enumerate(draws.LABELS):
            with self.subTest(kind):
                result = self.trial(trusted, untrusted, entry, kind)
                self.assertTrue(result.get("skipped") or result.get("mismatches") == [], result)

    def test_inputs_that_require_gradients_are_changed_like_others(self) -> None:
        drawn = "def get_inputs():\n    return [torch.randn(64, 32, requires_grad=True)]\n"
        module = "import torch\nclass {}(torch.nn.Module):\n    def forward(self, x):\n        return {}\n"
        # A NaN goes on to those before it in one of them alone: without it they are the same.
        problem = module.format("Model", "x @ torch.ones(32, 32).triu()") + drawn
        trusted, untrusted = self.start("trusted"), self.start("untrusted")
        self.prepare(trusted, untrusted, problem, module.format("ModelNew", "x.cumsum(-1)"), "cpu")
        for entry, kind in enumerate(draws.LABELS):
            with self.subTest(kind):
                result = self.trial(trusted, untrusted, entry, kind)
                self.assertTrue(result.get("skipped") or result.get("mismatches") == [], result)

    def test_what_a_nan_decides_says_nothing(self) -> None:
        problem = "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        low, code = x.abs().min(-1)\n        return RETURNED\n" + INPUTS
        body = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        low, code = x.abs().nan_to_num(nan=9.0).min(-1)\n        code = code.where(~x.isnan().any(-1), 17)\n        return RETURNED\n"
        chosen = "x[0, x.abs().argmin(-1) * 0 + code].cos()"
        for returned, undecided in (("code, x[0, code].cos()", True), (chosen, True), ("x[0, code].cos()", False), ("low, code", False)):
            trusted, untrusted = self.start("trusted"), self.start("untrusted")
            self.prepare(trusted, untrusted, problem.replace("RETURNED", returned), body.replace("RETURNED", returned), "cpu")
            self.assertEqual(self.trial(trusted, untrusted, 0)["mismatches"], [])
            special = self.trial(trusted, untrusted, 1, "special")
            self.assertEqual(special.get("undecided") is not None, undecided, (returned, special))
            self.assertEqual(special["mismatches"] == [], undecided, (returned, special))
            self.assertEqual(self.trial(trusted, untrusted, 2, "tiny")["mismatches"], [])

    def test_claims_that_do_not_fit_the_arena_are_refused(self) -> None:
        trusted = self.start("trusted")
        _loaded, fds = self.load(trusted, PROBLEM, "cpu")
        os.close(fds[0])
        _drawn, fds = trusted.request("draw", entry=0, seed=1, kind="problem")
        os.close(fds[0])
        trusted.ask("expect", entry=0)
        good = {"dtype": "float32", "shape": [64, 32], "strides": [32, 1], "offset": 0, "nbytes": 8192, "requires_grad": False, "device": "cpu"}
        for change in (
            {"offset": 64},
            {"offset": -64},
            {"offset": 2},
            {"strides": [32, 2]},
            {"strides": [-32, 1]},
            {"shape": [64, 33]},
            {"nbytes": 1 << 40},
            {"dtype": "load"},
            {"shape": [1 << 40, 1 << 40], "strides": [0, 0], "nbytes": 4},
        ):
            with self.subTest(change), self.assertRaises(Failed) as caught:
                fd = os.memfd_create("claims")
                self.addCleanup(os.close, fd)
                os.ftruncate(fd, 8192)
                trusted.ask("compare", [fd], entry=0, outputs={"tensor": 0}, tensors=[{**good, **change}], after=None)
            self.assertEqual(caught.exception.error["kind"], "unsupported")
