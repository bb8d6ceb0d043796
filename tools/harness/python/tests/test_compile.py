"""The compile worker against the compilers themselves: the same kernels compiled here by hand, and the tools' own reports of them."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from support import Worker

try:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
except ImportError:
    triton = None

PROBLEM = """
import torch
class Model(torch.nn.Module):
    def forward(self, x, y):
        return x + y
def get_inputs():
    return [torch.randn(512, 1000), torch.randn(512, 1000)]
def get_init_inputs():
    return []
"""

KERNELS = """
import torch
import triton
import triton.language as tl


@triton.jit
def add(out, x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.autotune(configs=[triton.Config({}, num_warps=warps) for warps in (2, 8)], key=["cols"])
@triton.heuristics({"BLOCK": lambda arguments: triton.next_power_of_2(arguments["cols"])})
@triton.jit
def softmax(out, x, cols, step, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * cols
    value = tl.load(x + row + at * step, mask=at < cols, other=-float("inf"))
    value = tl.exp(value - tl.max(value, 0))
    tl.store(out + row + at, value / tl.sum(value, 0), mask=at < cols)


@triton.jit
def matmul(a, b, c, K, N, M: tl.constexpr, BLOCK: tl.constexpr, STEP: tl.constexpr):
    rows, cols, inner = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, STEP)
    total = tl.zeros((M, BLOCK), tl.float32)
    for k in range(0, K, STEP):
        left = tl.load(a + rows[:, None] * K + (k + inner)[None, :])
        total += tl.dot(left, tl.load(b + (k + inner)[:, None] * N + cols[None, :]))
    tl.store(c + rows[:, None] * N + cols[None, :], total)


@triton.jit
def spiller(out, x, ROWS: tl.constexpr, COLS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    value = tl.load(x + at)
    for _ in range(4):
        value = value * tl.sum(value, 0)[None, :] + tl.sum(value, 1)[:, None]
    tl.store(out + at, value)
"""

FORWARD = """
class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        assert x.is_cuda and torch.cuda.is_available()
        out = torch.empty_like(x)
        add[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](out, x, y, x.numel(), BLOCK=1024)
        add[(500,)](out, x.view(-1)[1:], y, x.numel() - 1, BLOCK=1024)
        for _ in range(3):
            softmax[(512,)](out, x, x.shape[1], 1)
        half = torch.empty(512, 512, dtype=torch.float16, device=x.device)
        matmul[(4, 4)](half, half, torch.empty(512, 512, device=x.device), 512, 512, M=128, BLOCK=128, STEP=64, num_warps=8, num_stages=4)
        spiller[(1,)](out, x, ROWS=32, COLS=256, num_warps=1, num_stages=1)
        return out
"""

#: What the launches above come to, written down by hand: signature, constants, divisible arguments, options.
BY_HAND: dict[tuple[str, str], tuple[dict[str, str], dict[str, int], tuple[str, ...], dict[str, int]]] = {
    ("add", "x: *fp32 %16"): (
        {"out": "*fp32", "x": "*fp32", "y": "*fp32", "n": "i32"}, {"BLOCK": 1024}, ("out", "x", "y", "n"), {}),
    ("add", "x: *fp32,"): ({"out": "*fp32", "x": "*fp32", "y": "*fp32", "n": "i32"}, {"BLOCK": 1024}, ("out", "y"), {}),
    ("softmax", "num_warps=2"): (
        {"out": "*fp32", "x": "*fp32", "cols": "i32"}, {"step": 1, "BLOCK": 1024}, ("out", "x"), {"num_warps": 2}),
    ("softmax", "num_warps=8"): (
        {"out": "*fp32", "x": "*fp32", "cols": "i32"}, {"step": 1, "BLOCK": 1024}, ("out", "x"), {"num_warps": 8}),
    ("matmul", ""): (
        {"a": "*fp16", "b": "*fp16", "c": "*fp32", "K": "i32", "N": "i32"}, {"M": 128, "BLOCK": 128, "STEP": 64},
        ("a", "b", "c", "K", "N"), {"num_warps": 8, "num_stages": 4}),
    ("spiller", ""): ({"out": "*fp32", "x": "*fp32"}, {"ROWS": 32, "COLS": 256}, ("out", "x"), {"num_warps": 1, "num_stages": 1}),
}  # fmt: skip

PARTS: dict[str, tuple[str, int, int]] = {
    "sm_80": ("cuda", 32, 163), "sm_90": ("cuda", 32, 227), "sm_100": ("cuda", 32, 227), "gfx942": ("hip", 64, 64), "gfx950": ("hip", 64, 160),
}  # fmt: skip


def part(arch: str) -> dict[str, Any]:
    backend, warp, shared = PARTS.get(arch, ("cpu", 1, 0))
    return {
        "arch": arch, "name": arch, "backend": backend, "threads_per_warp": warp, "multiprocessors": 100, "threads_per_block": 1024,
        "threads_per_multiprocessor": 2048, "registers_per_multiprocessor": 65536, "shared_per_block": shared << 10,
        "shared_per_multiprocessor": shared << 10, "memory": 80 << 30, "l2": 50 << 20,
    }  # fmt: skip


def by_hand(function: Any, arch: str, signature: dict[str, str], constants: dict[str, int], divisible: tuple[str, ...], options: Any) -> Any:
    """The kernel compiled by Triton's own entry, from a signature that nobody derived."""
    while not hasattr(function, "arg_names") or not hasattr(function, "params"):
        function = function.fn
    backend, warp, _ = PARTS[arch]
    names = function.arg_names
    # On AMD a pointer into less than 2 GiB says so.
    small = [["tt.pointer_range", 32]] if backend == "hip" else []
    attributes = {}
    for index, name in enumerate(names):
        wanted = [["tt.divisibility", 16]] if name in divisible else []
        wanted += small if signature.get(name, "").startswith("*") else []
        if wanted:
            attributes[(index,)] = wanted
    source = ASTSource(
        function,
        {name: signature.get(name, "constexpr") for name in names},
        {(names.index(name),): value for name, value in constants.items()},
        attributes,
    )
    return triton.compile(source, target=GPUTarget(backend, int(arch[3:]) if backend == "cuda" else arch, warp), options=options)


def nvidia_says(kernel: Any, arch: str, folder: str) -> dict[str, int]:
    """What `ptxas -v` and `cuobjdump` say of the kernel's PTX."""
    tools = Path(triton.__file__).parent / "backends/nvidia/bin"
    source, binary = Path(folder, "k.ptx"), Path(folder, "k.cubin")
    source.write_text(kernel.asm["ptx"])
    modern = int(arch[3:]) >= 90
    assembler = tools / ("ptxas-blackwell" if modern else "ptxas")
    command = [str(assembler), "-v", "-lineinfo", "--regAllocOptLevel=2", f"--gpu-name={arch}{'a' if modern else ''}", str(source), "-o", str(binary)]
    log = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    usage = subprocess.run([str(tools / "cuobjdump"), "-res-usage", str(binary)], capture_output=True, text=True, check=True).stdout
    stack, stores, loads = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", log).groups()
    assert int(re.search(r"Used (\d+) registers", log)[1]) == int(re.search(r"REG:(\d+)", usage)[1])
    return {
        "registers": int(re.search(r"REG:(\d+)", usage)[1]), "stack": int(stack), "spill_stores": int(stores), "spill_loads": int(loads),
        "dynamic_shared": kernel.metadata.shared,
    }  # fmt: skip


def amd_says(kernel: Any) -> dict[str, int]:
    """What the assembly's comments and directives say, which are not what the worker reads."""
    text = kernel.asm["amdgcn"]

    def comment(name: str) -> int:
        return int(re.search(rf"; {name}: (\d+)", text)[1])

    return {
        "registers": comment("TotalNumVgprs"), "accumulation_registers": comment("NumAgprs"), "scalar_registers": comment("TotalNumSgprs"),
        "stack": comment("ScratchSize"), "static_shared": int(re.search(r"\.amdhsa_group_segment_fixed_size (\d+)", text)[1]),
        "dynamic_shared": kernel.metadata.shared,
    }  # fmt: skip


@unittest.skipIf(triton is None, "needs Triton")
class Compile(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory(prefix="compile-test-")
        cls.addClassCleanup(cls.folder.cleanup)
        environment = {"TMPDIR": cls.folder.name, "HOME": cls.folder.name, "TRITON_CACHE_DIR": f"{cls.folder.name}/triton"}
        cls.worker = Worker("compile", cls.folder.name, environment)
        cls.addClassCleanup(cls.worker.close)

    def compile(self, arch: str, candidate: str, problem: str = PROBLEM, kernel_limit_s: float = 60.0, limit_s: float = 120.0) -> dict[str, Any]:
        return self.worker.ask(
            "compile", part=part(arch), problem=problem, candidate=candidate, folder=f"{self.folder.name}/artifacts", threads=2,
            kernel_limit_s=kernel_limit_s, limit_s=limit_s,
        )  # fmt: skip

    def candidate(self, forward: str, kernels: str = KERNELS) -> str:
        body = "\n".join(f"        {line}" for line in forward.splitlines())
        return f"{kernels}\nclass ModelNew(torch.nn.Module):\n    def forward(self, x, y):\n{body}\n"

    def test_figures_are_the_compilers_own(self) -> None:
        path = Path(self.folder.name, "kernels.py")
        path.write_text(KERNELS)
        specification = importlib.util.spec_from_file_location("kernels_by_hand", path)
        module = importlib.util.module_from_spec(specification)
        sys.modules["kernels_by_hand"] = module
        specification.loader.exec_module(module)
        os.environ["TRITON_CACHE_DIR"] = f"{self.folder.name}/by-hand"
        spilled = 0
        for arch in PARTS:
            answer = self.compile(arch, KERNELS + FORWARD)
            self.assertIsNone(answer["fault"])
            self.assertEqual(len(answer["kernels"]), len(BY_HAND), [kernel["kernel"] for kernel in answer["kernels"]])
            for (name, mark), launch in BY_HAND.items():
                with self.subTest(arch=arch, kernel=name, mark=mark):
                    found = [k for k in answer["kernels"] if k["kernel"] == name and mark in f"{k['signature']}; {k['configuration']}"]
                    self.assertEqual(len(found), 1)
                    kernel = by_hand(getattr(module, name), arch, *launch)
                    says = nvidia_says(kernel, arch, self.folder.name) if arch.startswith("sm") else amd_says(kernel)
                    self.assertEqual({key: found[0]["figures"].get(key) for key in says}, says)
                    if arch.startswith("gfx"):
                        metadata = kernel.asm["amdgcn"].rpartition(".amdgpu_metadata")[2]
                        self.assertEqual(found[0]["figures"]["spilled_registers"], int(re.search(r"vgpr_spill_count: (\d+)", metadata)[1]))
                    spilled += says.get("spill_stores", 0) + says["stack"]
        self.assertGreater(spilled, 0, "no kernel spills: the test says nothing about spills")

    def test_what_a_compiler_refuses_or_dies_of_is_an_answer(self) -> None:
        kernels = KERNELS + "\n@triton.jit\ndef bad(out):\n    tl.store(out, nowhere)\n"
        kernels += "\n@triton.jit\ndef asm(out):\n    tl.store(out, tl.inline_asm_elementwise('bogus $0;', '=r', [], tl.int32, True, 1))\n"
        answer = self.compile("sm_90", self.candidate("bad[(1,)](x)\nasm[(1,)](x)\nadd[(1,)](x, x, y, 7, BLOCK=64, num_ctas=3)\nreturn x", kernels))
        summaries = [(kernel["kernel"], kernel["status"], kernel["summary"]) for kernel in answer["kernels"]]
        self.assertEqual(summaries[0], ("bad", "failed", "CompilationError: NameError('nowhere is not defined')"))
        self.assertEqual(summaries[1][:2], ("asm", "failed"))
        self.assertIn("bogus", answer["kernels"][1]["diagnostics"])
        self.assertEqual(summaries[2][:2], ("add", "failed"))
        self.assertIsNone(answer["fault"])

    def test_a_candidate_that_dies_leaves_what_it_had(self) -> None:
        answer = self.compile("gfx942", self.candidate("add[(1,)](x, x, y, 7, BLOCK=64)\nimport os\nos.abort()"))
        self.assertEqual([kernel["status"] for kernel in answer["kernels"]], ["compiled"])
        self.assertEqual((answer["fault"]["fault"], answer["fault"]["summary"]), ("crashed", "the candidate's process killed by SIGABRT"))
        late = self.compile("gfx942", self.candidate("import time\ntime.sleep(60)"), limit_s=2.0)
        self.assertEqual(late["fault"]["fault"], "timed_out")

    def test_a_configuration_that_kills_its_compiler_leaves_the_others(self) -> None:
        kernels = KERNELS + "\ndef hook(arguments):\n    import os\n    if arguments['BLOCK'] == 64: os.abort()\n"
        tuned = "triton.autotune([triton.Config({'BLOCK': b}, pre_hook=hook) for b in (32, 64, 128)], key=['n'])(add)"
        answer = self.compile("sm_80", self.candidate("tuned[(1,)](x, x, y, 7)\nreturn x", f"{kernels}\ntuned = {tuned}\n"))
        self.assertEqual([kernel["status"] for kernel in answer["kernels"]], ["compiled", "crashed", "compiled"])
        self.assertIn("BLOCK=64", answer["kernels"][1]["configuration"])

    def test_values_that_only_a_device_has_stop_the_candidate_with_a_hint(self) -> None:
        answer = self.compile("sm_90", self.candidate("if x.max().item() > 0:\n    add[(1,)](x, x, y, 7, BLOCK=64)\nreturn x"))
        self.assertEqual(answer["fault"]["fault"], "run")
        self.assertIn("shapes only", answer["fault"]["hint"])

    def test_inline_cuda_is_compiled_for_the_part(self) -> None:
        source = "__global__ void twice(float* x, int n) { __shared__ float t[64]; int i = threadIdx.x; t[i % 64] = x[i]; __syncthreads(); if (i < n) x[i] = 2 * t[63 - i % 64]; }"
        kernels = "import torch\nfrom torch.utils.cpp_extension import load_inline\n"
        kernels += f"library = load_inline('twice', cpp_sources='void go(torch::Tensor x);', cuda_sources='''{source}\n"
        kernels += "void go(torch::Tensor x) { twice<<<1, 64>>>(x.data_ptr<float>(), 64); }''', functions=['go'])\n"
        answer = self.compile("sm_80", self.candidate("library.go(x)\nreturn x", kernels))
        if answer["not_compiled"]:
            self.assertIn("pip install nvidia-cuda-nvcc", answer["not_compiled"][0]["hint"])
            return
        (kernel,) = answer["kernels"]
        self.assertEqual((kernel["kernel"], kernel["figures"]["static_shared"]), ("twice(float*, int)", 256))
        self.assertIn("followed up to twice.go", " ".join(answer["notes"]))
        self.assertEqual(self.compile("gfx942", self.candidate("return x", kernels))["not_compiled"][0]["what"], "the sources of twice")
        broken = self.compile("sm_80", self.candidate("return x", kernels.replace("2 * t[", "2 * u[")))
        self.assertIn('identifier "u" is undefined', broken["kernels"][0]["summary"])
        only_there = kernels.replace("__syncthreads();", 'asm volatile("wgmma.fence.sync.aligned;");')
        flagged = only_there.replace("functions=", "extra_cuda_cflags=['-gencode=arch=compute_90a,code=sm_90a'], functions=")
        told = [self.compile("sm_90", self.candidate("return x", text))["kernels"][0]["status"] for text in (only_there, flagged)]
        self.assertEqual(told, ["failed", "compiled"])

    def test_a_kernel_for_nvrtc_alone_is_compiled_for_the_part(self) -> None:
        source = """template <int N> __global__ void twice(float* x) { __shared__ float t[N]; t[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[0] = 2 * t[N - 1]; }
extern "C" __global__ void thrice(float* x) { *x *= 3; }"""
        kernels = f"import torch\nSOURCE = '''{source}'''\ntwice = torch.cuda._compile_kernel(SOURCE, 'twice<64>')\n"
        forward = "twice(grid=(1, 1, 1), block=(64, 1, 1), args=[x])\nthrice = torch.cuda._compile_kernel(SOURCE, 'thrice')\nthrice(args=[x])\nreturn x"
        answer = self.compile("sm_80", self.candidate(forward, kernels))
        if answer["not_compiled"]:
            self.assertIn("NVRTC", answer["not_compiled"][0]["reason"])
            return
        self.assertEqual((answer["fault"], answer["notes"]), (None, []))
        told = [(kernel["kernel"], kernel["figures"].get("static_shared", 0)) for kernel in answer["kernels"]]
        self.assertEqual(told, [("void twice<64>(float*)", 256), ("thrice", 0)])
        self.assertGreater(answer["kernels"][0]["figures"]["registers"], 0)
        self.assertEqual(self.compile("gfx942", self.candidate(forward, kernels))["not_compiled"][0]["what"], "the sources of twice<64>")
        broken = self.compile("sm_80", self.candidate(forward, kernels.replace("2 * t[", "2 * u[")))
        self.assertIn('identifier "u" is undefined', broken["kernels"][0]["summary"])
        only_there = kernels.replace("__syncthreads();", 'asm volatile("wgmma.fence.sync.aligned;");')
        asked = only_there.replace("'twice<64>'", "'twice<64>', compute_capability='90a'")
        statuses = [self.compile("sm_90", self.candidate("return x", text))["kernels"][0]["status"] for text in (only_there, asked)]
        self.assertEqual(statuses, ["failed", "compiled"])

    def test_a_function_is_followed_and_a_backward_pass_is_said_not_to_be(self) -> None:
        function = KERNELS + "\ndef kernel(x, y):\n    add[(1,)](x, x, y, 7, BLOCK=64)\n    return x\n"
        answer = self.compile("sm_90", function, problem=f"{PROBLEM}\nbackward = True\n")
        self.assertEqual(([kernel["kernel"] for kernel in answer["kernels"]], answer["fault"]), (["add"], None))
        self.assertIn("backward pass", answer["notes"][0])

    def test_every_set_of_inputs_is_followed(self) -> None:
        problem = PROBLEM.replace("def get_inputs():", "SHAPES = [(64, 256), (64, 300)]\ndef get_inputs(rows, cols):").replace("512, 1000", "rows, cols")
        kernels = KERNELS + "\n@triton.jit\ndef odd(out, x):\n    tl.store(out, tl.load(x) + nowhere)\n"
        forward = "if x.shape[1] == 256:\n    add[(1,)](x, x, y, 7, BLOCK=64)\nelse:\n    odd[(1,)](x, y)\nreturn x"
        answer = self.compile("sm_90", self.candidate(forward, kernels), problem=problem)
        self.assertEqual([(kernel["kernel"], kernel["status"]) for kernel in answer["kernels"]], [("add", "compiled"), ("odd", "failed")])

    def test_parts_of_one_architecture_are_told_the_same(self) -> None:
        candidate = self.candidate("add[(1,)](x, x, y, 7, BLOCK=64)\nreturn x")
        first, second = (self.compile("sm_90", candidate)["kernels"][0]["figures"] for _ in range(2))
        self.assertIn("spill_stores", first)
        self.assertEqual(first, second)

    def test_compilers_that_a_candidate_starts_itself_are_told_by_how_they_end(self) -> None:
        def told(start: str) -> list[tuple[str, str]]:
            source = f"import os, subprocess, torch\n{start}\nclass ModelNew(torch.nn.Module):\n    pass\n"
            answer = self.compile("cpu", source)
            return [(kernel["status"], kernel.get("summary", "")) for kernel in answer["kernels"]]

        syntax = '"-fsyntax-only", "-x", "c++", "-"'
        self.assertEqual(told(f'subprocess.run(["g++", {syntax}], input=b"int a;", check=True)'), [("compiled", "")])
        ((status, summary),) = told(f'subprocess.run(["g++", {syntax}], input="int a", text=True, capture_output=True)')
        self.assertTrue(status == "failed" and "error: expected" in summary, summary)
        ((status, summary),) = told(f'subprocess.run(["g++", {syntax}], input=b"int a", check=True)')
        self.assertTrue(status == "failed" and "exit code 1" in summary, summary)
        other_flags = f'subprocess.run(["g++", "--none", {syntax}]); subprocess.run(["g++", {syntax}], input=b"int a;")'
        self.assertEqual(told(other_flags), [("compiled", "")])
        self.assertEqual([status for status, _summary in told("os.system('echo int a | g++ -x c++ - ; g++ --version')")], [])
        self.assertEqual([status for status, _summary in told("os.system('g++ --version')")], ["compiled"])

    def test_what_a_constructor_builds_is_compiled_on_the_host(self) -> None:
        source = (
            "import torch\nfrom torch.utils.cpp_extension import load_inline\nclass ModelNew(torch.nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n        self.built = load_inline('broken', cpp_sources='int a;', extra_cflags=['--none'])\n"
        )
        (kernel,) = self.compile("cpu", source)["kernels"]
        self.assertEqual((kernel["kernel"], kernel["status"]), ("broken", "failed"))

    def test_a_problem_that_fails_is_not_the_candidates_doing(self) -> None:
        answer = self.compile("sm_90", self.candidate("return x"), problem=PROBLEM.replace("torch.randn(512", "torch.nowhere(512"))
        self.assertEqual((answer["fault"]["fault"], answer["fault"]["kind"]), ("problem", "problem_run"))
        answer = self.compile("sm_90", self.candidate("return x"), problem="class Model(:\n")
        self.assertEqual((answer["fault"]["fault"], answer["fault"]["kind"]), ("problem", "problem_import"))


if __name__ == "__main__":
    unittest.main()
