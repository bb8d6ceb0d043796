"""The profile worker: over its real channel for what the supervisor sees, directly for the figures' arithmetic."""

from __future__ import annotations

import platform
import shutil
import subprocess
import tempfile
import textwrap
import time
import unittest
from typing import Any

import torch
from support import Failed, Worker

from kernelwright_worker import figures, machine_code, repeated
from kernelwright_worker.describe_cpu import CacheLevel, arch, parse_cpu_list
from kernelwright_worker.device import POISON_BYTE, Device
from kernelwright_worker.subject import load_subject

PROBLEM = textwrap.dedent("""
    import torch

    class Model(torch.nn.Module):
        def __init__(self, features):
            super().__init__()
            self.bias = torch.nn.Parameter(torch.randn(features))

        def forward(self, x):
            return torch.softmax(x + self.bias, dim=-1)

    def get_inputs():
        return [torch.randn(256, 512)]

    def get_init_inputs():
        return [512]
""")

RAW_POINTERS = textwrap.dedent("""
    import ctypes, subprocess, tempfile
    from pathlib import Path
    import torch

    folder = Path(tempfile.mkdtemp())
    (folder / "double.c").write_text(
        "void slow_double(float *out, const float *x, long n) {"
        " for (int again = 0; again < 50; again++) for (long i = 0; i < n; i++) out[i] = x[i] + x[i] + (float)again * 0.0f; }")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", folder / "double.so", folder / "double.c"], check=True)
    library = ctypes.CDLL(str(folder / "double.so"))
    library.slow_double.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]

    class ModelNew(torch.nn.Module):
        def __init__(self, features):
            super().__init__()
            self.bias = torch.nn.Parameter(torch.zeros(features))

        def forward(self, x):
            out = torch.empty_like(x)
            library.slow_double(out.data_ptr(), x.data_ptr(), x.numel())
            return out
""")


UNWRITTEN = textwrap.dedent("""
    import torch

    class ModelNew(torch.nn.Module):
        def __init__(self, features):
            super().__init__()

        def forward(self, x):
            return torch.empty_like(x)
""")


class TheSubject(unittest.TestCase):
    def test_no_time_goes_into_filling_memory(self) -> None:
        unwritten = load_subject(PROBLEM, UNWRITTEN, Device("cpu"), 1).call()
        assert isinstance(unwritten, torch.Tensor)
        self.assertFalse(bool((unwritten.view(torch.uint8) == POISON_BYTE).all()))


class TheWorker(unittest.TestCase):
    """One process serves all of these: what one request did must not spoil the next."""

    worker: Worker

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="kernelwright-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.worker = Worker("profile", folder.name)
        cls.addClassCleanup(cls.worker.close)

    def load(self, problem: str = PROBLEM, candidate: str | None = None) -> dict[str, Any]:
        return self.worker.ask("load", problem=problem, candidate=candidate, device="cpu", threads=1, seed=3)

    def profile(self, problem: str = PROBLEM, candidate: str | None = None) -> dict[str, Any]:
        return {**self.load(problem, candidate), **self.worker.ask("run"), **self.worker.ask("trace")}

    def work(self, problem: str) -> dict[str, Any]:
        self.load(problem)
        return self.worker.ask("work")["work"]

    def refusal(self, **request: str) -> dict[str, str]:
        with self.assertRaises(Failed) as failed:
            self.profile(**request)
        return failed.exception.error

    def test_describes_the_processor_with_figures_that_are_there(self) -> None:
        described = self.worker.ask("describe", device="cpu", threads=1)
        facts = {fact["name"]: fact for fact in described["facts"]}
        self.assertEqual({fact["source"] for fact in described["facts"]}, {"read", "measured"})
        self.assertEqual(facts["threads for kernels"]["value"], "1")
        self.assertIn("GB/s read plus written", facts["copy bandwidth"]["value"])
        self.assertGreater(described["copy_bytes_per_second"], 1e8)
        self.assertGreater(described["matrix_operations_per_second"]["float32"], 1e9)
        self.assertGreater(described["memory"], 1 << 28)
        self.assertTrue(described["name"])
        self.assertTrue(any(line.startswith("torch ") for line in described["software"]))
        self.assertFalse([fact for fact in described["facts"] if fact["value"] in ("", "0", "None")])

    def test_a_problem_shows_torchs_operators(self) -> None:
        self.worker.ask("open", device="cpu")
        profile = self.profile()
        names = [kernel["name"] for kernel in profile["kernels"]]
        self.assertIn("aten::_softmax", names)
        self.assertIn("(outside torch operators)", names)
        self.assertAlmostEqual(sum(kernel["share"] for kernel in profile["kernels"]), 1, delta=0.01)
        softmax = profile["kernels"][names.index("aten::_softmax")]
        self.assertEqual(softmax["launches_per_call"], 1)
        loaded = self.load()
        self.assertTrue(1 <= loaded["calls"] <= 20 <= profile["calls"])
        self.assertEqual(loaded["input_sets"], 1)
        self.assertGreater(profile["wall_per_call_ns"], 0)
        times = [kernel["time_per_call_ns"] for kernel in profile["kernels"] if kernel["name"] != "(all others)"]
        self.assertEqual(times, sorted(times, reverse=True))

    def test_a_training_problem_and_its_candidate_show_both_passes(self) -> None:
        problem = f"{PROBLEM}\nbackward = True\n"
        for candidate in (None, PROBLEM.replace("class Model", "class ModelNew")):
            names = [kernel["name"] for kernel in self.profile(problem, candidate)["kernels"]]
            self.assertIn("aten::_softmax_backward_data", names)
            self.assertIn("aten::_softmax", names)

    def test_a_function_on_arrays_is_profiled(self) -> None:
        problem = "import numpy as np\ndef reference(x):\n    return np.tanh(x)\ndef get_inputs():\n    return [np.ones((256, 256), np.float32)]\n"
        for candidate in (None, "import numpy as np\ndef kernel(x):\n    return np.tanh(x)\n"):
            self.assertEqual(self.profile(problem, candidate)["kernels"][0]["name"], "(outside torch operators)")

    def test_the_work_of_a_problem_is_what_it_reads_and_returns_once(self) -> None:
        floats = 256 * 512 + 512 + 256 * 512
        self.assertEqual(self.work(PROBLEM), {"bytes": 4 * floats, "operations": {}})
        # Read twice, it still has to come once; what lies in between, and parameters that nobody reads, need not move.
        twice = PROBLEM.replace("torch.softmax(x + self.bias, dim=-1)", "(torch.relu(x) + x).sum()")
        self.assertEqual(self.work(twice)["bytes"], 4 * (256 * 512 + 1))

    def test_of_a_table_only_what_is_looked_up_is_work(self) -> None:
        lookup = PROBLEM.replace("torch.softmax(x + self.bias, dim=-1)", "self.bias[torch.arange(8)] + x[:8, 0]")
        self.assertEqual(self.work(lookup)["bytes"], 4 * (8 + 8 + 8))

    def test_matrix_products_are_counted_by_dtype(self) -> None:
        product = PROBLEM.replace("torch.softmax(x + self.bias, dim=-1)", "(x @ x.T).double() @ torch.ones(256, 2, dtype=torch.float64)")
        self.assertEqual(self.work(product)["operations"], {"float32": 2.0 * 256 * 256 * 512, "float64": 2.0 * 256 * 256 * 2})
        trained = self.work(product.replace("x @ x.T", "(x + self.bias) @ x.T") + "\nbackward = True\n")
        self.assertGreater(trained["operations"]["float32"], 2 * 2.0 * 256 * 256 * 512)

    def test_the_work_of_a_function_on_arrays_is_its_inputs_and_outputs(self) -> None:
        problem = "import numpy as np\ndef reference(x):\n    return np.tanh(x)\ndef get_inputs():\n    return [np.ones((256, 256), np.float32)]\n"
        self.assertEqual(self.work(problem), {"bytes": 2 * 4 * 256 * 256, "operations": {}})

    def test_a_raw_pointer_kernel_is_named(self) -> None:
        profile = self.profile(candidate=RAW_POINTERS)
        self.assertEqual(profile["kernels"][0]["name"], "ctypes: slow_double")
        self.assertTrue(any("ctypes" in limit for limit in profile["limits"]))

    def test_the_code_of_a_raw_pointer_kernel_is_read(self) -> None:
        for options, share in (("-O1", 0.0), ("-O3", 1.0)):
            self.load(candidate=RAW_POINTERS.replace("-O1", options))
            code = self.worker.ask("code")
            self.assertEqual((code["vector_share"], code["limits"]), (share, []))
            self.assertEqual(code.get("vector_bits"), 128 if share else None)

    def test_a_module_without_code_of_its_own_has_no_figures_of_code(self) -> None:
        self.load()
        self.assertEqual(self.worker.ask("code"), {"limits": []})

    def test_parameters_of_the_problem_reach_the_candidate(self) -> None:
        candidate = PROBLEM.replace("class Model", "class ModelNew").replace(
            "torch.randn(features)", "torch.full((features,), float('nan'))").replace(
            "return torch", "assert not self.bias.isnan().any(); return torch")  # fmt: skip
        self.assertTrue(self.profile(candidate=candidate)["kernels"])

    def test_profiling_does_not_import_torchs_compiler(self) -> None:
        # That takes seconds. Calls see what those before them have imported; a problem that cannot be called has no work.
        imported = "import sys; assert 'torch._inductor' not in sys.modules; return torch"
        problem = PROBLEM.replace("return torch", imported)
        self.assertEqual([self.work(problem) for _ in range(2)], [self.work(PROBLEM)] * 2)
        candidate = PROBLEM.replace("class Model", "class ModelNew").replace("return torch", imported)
        self.assertTrue(self.profile(candidate=candidate)["kernels"])

    def test_each_failure_has_its_kind_and_phase(self) -> None:
        cases = {
            ("problem_import", "import"): {"problem": "import nowhere"},
            ("problem_shape", "import"): {"problem": "x = 1"},
            ("problem_run", "construct"): {"problem": PROBLEM.replace("return [512]", "return []")},
            ("problem_run", "run"): {"problem": PROBLEM.replace("512)]", "511)]")},
            ("import", "import"): {"candidate": "raise SystemExit(0)"},
            ("no_model_new", "import"): {"candidate": "class Model: pass"},
            ("construct", "construct"): {"candidate": "class ModelNew:\n  def __init__(self): pass"},
            ("run", "run"): {"candidate": "class ModelNew:\n  def __init__(self, n): pass\n  def __call__(self, x): return x.nothing"},
        }
        for expected, request in cases.items():
            with self.subTest(expected):
                error = self.refusal(**request)
                self.assertEqual((error["kind"], error["phase"]), expected)

    def test_a_failure_shows_the_line_at_fault(self) -> None:
        candidate = "class ModelNew:\n  def __init__(self, n): pass\n  def __call__(self, x):\n    return x.nothing"
        error = self.refusal(candidate=candidate)
        self.assertEqual(error["message"], "AttributeError: 'Tensor' object has no attribute 'nothing'")
        self.assertIn('File "candidate.py", line 4', error["traceback"])
        self.assertIn("return x.nothing", error["traceback"])
        self.assertNotIn("torch_profile.py", error["traceback"])

    def test_a_missing_device_is_named(self) -> None:
        with self.assertRaises(Failed) as failed:
            self.worker.ask("describe", device="cuda:77", threads=1)
        self.assertEqual(failed.exception.error["kind"], "device")
        self.assertIn("cuda:77", failed.exception.error["message"])


def disassembled(source: str, *options: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/code.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-o", path, *options, "-"], input=source, text=True, check=True)
        command = ["objdump", "--disassemble", "--no-show-raw-insn", "--disassembler-options=intel", path]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@unittest.skipUnless(platform.machine() == "x86_64" and shutil.which("objdump") and shutil.which("gcc"), "needs binutils and gcc on x86-64")
class Repeating(unittest.TestCase):
    def test_a_first_call_that_compiles_says_nothing_of_the_others(self) -> None:
        pauses = iter([repeated.WARM_UP_S + 0.1])
        warm = repeated.Repeated(lambda: time.sleep(next(pauses, 0)), torch.device("cpu"))
        self.assertEqual(warm.calls, repeated.MOST_CALLS)


class MachineCode(unittest.TestCase):
    AXPY = "void axpy(float *o, const float *a, const float *b, long n) { for (long i = 0; i < n; i++) o[i] = a[i] * 2.5f + b[i]; }\n"
    SUM = "float total(const float *a, long n) { float s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }\n"

    def figures(self, source: str, *options: str) -> dict[str, float]:
        return machine_code.figures(machine_code.inner_loops(disassembled(source, *options)))

    def test_a_scalar_loop_is_scalar_and_a_vector_loop_with_its_remainders_is_not(self) -> None:
        self.assertEqual(self.figures(self.AXPY, "-O1"), {"vector_share": 0.0, "vector_loops": 0, "scalar_loops": 1})
        wide = self.figures(self.AXPY, "-O3", "-mavx2", "-mfma")
        self.assertEqual(wide, {"vector_share": 1.0, "vector_loops": 1, "scalar_loops": 0, "vector_bits": 256})

    def test_a_reduction_that_may_not_be_reordered_stays_scalar_beside_a_vector_loop(self) -> None:
        both = self.figures(self.AXPY + self.SUM, "-O3", "-mavx2", "-mfma")
        self.assertEqual((both["vector_loops"], both["scalar_loops"]), (1, 1))
        freed = self.figures(self.AXPY + self.SUM, "-O3", "-mavx2", "-mfma", "-ffast-math")
        self.assertEqual((freed["vector_loops"], freed["scalar_loops"], freed["vector_share"]), (2, 0, 1.0))

    def test_code_without_arithmetic_in_loops_has_no_figures(self) -> None:
        self.assertEqual(self.figures("float once(float x) { return x * 3.0f + 1.0f; }", "-O2"), {})


class Figures(unittest.TestCase):
    def test_print_with_three_digits_and_a_unit(self) -> None:
        shown = [figures.size(32768), figures.size(1310720), figures.size(100), figures.rate(41.23e9, "B"), figures.rate(1.017e12, "FLOP")]
        self.assertEqual(shown, ["32 KiB", "1.25 MiB", "100 B", "41.2 GB/s", "1.02 TFLOP/s"])
        shown = [figures.duration(seconds) for seconds in (7.12e-7, 1.844e-5, 0.0177, 2.31)]
        self.assertEqual(shown, ["712 ns", "18.4 us", "17.7 ms", "2.31 s"])

    def test_what_could_not_be_had_leaves_no_fact(self) -> None:
        facts = figures.Facts()
        facts.read("clock", None)
        facts.measured("copy", "1 GB/s")
        self.assertEqual(facts.entries, [{"name": "copy", "value": "1 GB/s", "source": "measured"}])

    def test_the_best_of_several_runs_counts(self) -> None:
        times = iter([3.0, 1.0, 2.0])
        self.assertEqual(figures.best_seconds(lambda: next(times), budget_s=0), 1.0)


class Processor(unittest.TestCase):
    def test_processor_lists(self) -> None:
        self.assertEqual(parse_cpu_list("0-2,8"), {0, 1, 2, 8})
        self.assertEqual(parse_cpu_list(""), set())

    def test_caches_say_who_shares_them(self) -> None:
        kib = 1024
        private = CacheLevel("L1d", ((32 * kib, frozenset({0})), (32 * kib, frozenset({1}))))
        self.assertEqual(private.words(), "32 KiB per processor, 2 instances")
        hybrid = CacheLevel("L2", ((2048 * kib, frozenset({0, 1})), (4096 * kib, frozenset({2, 3, 4, 5}))))
        self.assertEqual(hybrid.words(), "4 MiB shared by 4 processors, 1 instance; 2 MiB shared by 2 processors, 1 instance")

    def test_the_architecture_follows_the_vectors(self) -> None:
        wide = ["avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"]
        self.assertEqual([arch("x86_64", flags) for flags in (wide, wide[:3], [])], ["x86_64-avx512", "x86_64-avx2", "x86_64"])
        self.assertEqual([arch("aarch64", flags) for flags in (["asimd", "sve"], ["asimd"])], ["aarch64-sve", "aarch64"])


if __name__ == "__main__":
    unittest.main()
