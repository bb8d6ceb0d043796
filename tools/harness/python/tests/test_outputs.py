"""What candidates return, look at and run that is honest and unusual, and what they are told where it is not taken."""

from __future__ import annotations

import os
import sys
import unittest
from collections import OrderedDict, UserDict, namedtuple
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import torch
from support import Failed, Worker, WorkerCase

from kernelwright_worker import cuda_ipc, launches
from kernelwright_worker.locations import Locations
from kernelwright_worker.trees import Untransportable, decode, encode

FILLS = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x, out):
        out.copy_(x.relu() * 2)

def get_inputs():
    return [torch.randn(64, 32), torch.empty(64, 32)]
"""
FILLER = """
import torch

class ModelNew(torch.nn.Module):
    def forward(self, x, out):
        torch.clamp_min(x, 0, out=out).mul_(2)
"""
PRODUCT = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, a, b):
        return a @ b

def get_inputs():
    return [torch.randn(512, 512), torch.randn(512, 512)]
"""
STUB = "import queue, sys, threading, types\nimport torch\nsys.modules['numba'] = types.ModuleType('numba')\n"
IN_A_THREAD = """
todo, done = queue.SimpleQueue(), queue.SimpleQueue()

def work():
    with torch.no_grad():
        while True:
            a, b = todo.get()
            done.put(a @ b)

threading.Thread(target=work, daemon=True).start()

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        todo.put((a, b))
        return done.get()
"""
WITHOUT_MODES = """
from torch.utils._python_dispatch import _disable_current_modes

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        with _disable_current_modes():
            return a @ b
"""
CHAIN = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, a, b):
        return torch.tanh(a * b + a).clamp(-0.9, 0.9) * b + a.exp()

def get_inputs():
    return [torch.randn(512, 512), torch.randn(512, 512)]
"""
COMPILED = """
import torch

@torch.compile
def chain(a, b):
    return torch.tanh(a * b + a).clamp(-0.9, 0.9) * b + a.exp()

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return chain(a, b)
"""
OPERATOR = """
import torch

library = torch.library.Library("mine", "DEF")
library.define("product(Tensor a, Tensor b) -> Tensor")
library.impl("product", lambda a, b: torch.from_numpy(a.numpy() @ b.numpy()), "CPU")

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.ops.mine.product(a, b)
"""
RAISES = """
import torch
calls = 0

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        global calls
        calls += 1
        if calls > 2:
            raise RuntimeError("not any more")
        return a @ b
"""


class Named(unittest.TestCase):
    def test_torch_s_own_named_tuples_are_told_as_briefly_as_tuples(self) -> None:
        named = torch.rand(3, 5).max(-1)
        replies = []
        for value in (named, tuple(named)):
            locations = Locations(cuda_ipc.Blocks())
            locations.add(value)
            self.assertEqual(locations.kept, [], "nothing of it had to be taken apart")
            replies.append(locations.reply())
        self.assertEqual(replies[0], replies[1])


class InPlace(WorkerCase):
    def test_nothing_is_an_output(self) -> None:
        trusted, untrusted = self.start("trusted"), self.start("untrusted")
        loaded = self.prepare(trusted, untrusted, FILLS, FILLER, "cpu")
        self.assertIsNone(loaded["degenerate"])
        self.assertEqual(self.trial(trusted, untrusted, 0)["mismatches"], [])
        entries = [{"entry": 100 + i, "base": 1, "recipe": {"rotate": i}} for i in range(2)]
        self.give(trusted, untrusted, 1)
        placed = untrusted.ask("place", entries=entries)
        untrusted.ask("time")
        held = untrusted.ask("held")
        self.assertEqual((held["forms"], held["calls"]), ([{"outputs": None, "tensors": []}], [[0], [0]]))
        untrusted.stop()
        try:
            for item, (form, *addresses) in zip(entries, placed["calls"]):
                after = placed["forms"][form]
                tensors = [{**tensor, "memory": {"host": {"address": address}}} for tensor, address in zip(after["tensors"], addresses)]
                fd = untrusted.read(tensors)
                call = {**item, "outputs": None, "tensors": [], "after": after["outputs"], "after_tensors": tensors}
                self.assertEqual(trusted.ask("verify", [fd], calls=[call])["comparisons"][0]["mismatches"], [])
                os.close(fd)
        finally:
            untrusted.resume()

    def test_a_problem_that_decides_little_is_told_from_one_that_works_in_place(self) -> None:
        trusted = self.start("trusted")
        shell = "from torch import nn\nimport torch\nclass Model(nn.Module):\n    def forward(self, {}): {}\ndef get_inputs(): return [{}]\n"
        cases = [
            (("x, out", "out.copy_(x.relu())", "torch.randn(8), torch.empty(8)"), None),
            (("x, out", "out.fill_(1.0)", "torch.randn(8), torch.empty(8)"), "equal within tolerance"),
            (("x, out", "pass", "torch.randn(8), torch.empty(8)"), "equal within tolerance"),
            (("n, kind", "return torch.ones(n) if kind == 'one' else torch.zeros(n)", "8, 'one'"), "`get_inputs` gives the same inputs every time"),
            (("i", "return i + 1", "torch.arange(8)"), "`get_inputs` gives the same inputs every time"),
            (("x", "return x + 1", "torch.arange(8.0)"), None),
        ]
        for parts, text in cases:
            with self.subTest(parts):
                loaded, fds = self.load(trusted, shell.format(*parts), "cpu")
                os.close(fds[0])
                if text is None:
                    self.assertIsNone(loaded["degenerate"])
                else:
                    self.assertIn(text, loaded["degenerate"] or "")


class Searches(WorkerCase):
    def findings(self, head: str, body: str) -> list[dict[str, str]]:
        """What is noticed of a candidate that does this in its first call, and again in the next."""
        trusted, untrusted = self.start("trusted"), self.start("untrusted")
        lines = f"import gc, inspect, logging, sys\nimport torch\n{head}\nclass ModelNew(torch.nn.Module):\n    def forward(self, a, b):\n"
        self.prepare(trusted, untrusted, PRODUCT, lines + f"        {body}\n        return a @ b\n", "cpu")
        self.give(trusted, untrusted, 0)
        found = untrusted.ask("run", entry=0, poison=False).get("findings", [])
        self.assertEqual(untrusted.ask("run", entry=0, poison=False).get("findings", []), found, "what is known is told again")
        return found

    def test_frames_are_told_of_and_decide_nothing(self) -> None:
        for body in ("name = sys._getframe(1).f_code.co_name", "inspect.stack()", "inspect.currentframe()"):
            with self.subTest(body):
                (found,) = self.findings("", body)
                self.assertEqual((found["rule"], found["severity"]), ("reads_frames", "warning"))
                self.assertIn("sys._getframe", found["message"])

    def test_frames_while_a_file_is_imported_and_those_of_libraries_are_not_told(self) -> None:
        self.assertEqual(self.findings("inspect.stack()", "logging.getLogger('x').warning('called')"), [])

    def test_a_search_of_the_collector_decides_and_comes_first(self) -> None:
        found = self.findings("", "sys._getframe(0); gc.get_objects()")
        self.assertEqual([(one["rule"], one.get("severity")) for one in found], [("memory_scan", None), ("reads_frames", "warning")])
        self.assertIn("gc.get_objects", found[0]["message"])
        self.assertNotIn("_getframe", found[0]["message"])


class Launches(WorkerCase):
    def traced(self, problem: str, candidate: str) -> dict[str, Any]:
        """What is told of a candidate after a trial and a timed call."""
        home = os.path.join(self.folder, "home")
        os.makedirs(home, exist_ok=True)
        trusted = self.start("trusted")
        untrusted = self.start("untrusted", HOME=home, TMPDIR=home, TORCHINDUCTOR_CACHE_DIR=os.path.join(home, "inductor"))
        self.prepare(trusted, untrusted, problem, candidate, "cpu")
        self.assertEqual(self.trial(trusted, untrusted, 0)["mismatches"], [])
        return self.trace(trusted, untrusted)

    def trace(self, trusted: Worker, untrusted: Worker) -> dict[str, Any]:
        self.give(trusted, untrusted, 1)
        untrusted.ask("place", entries=[{"entry": 100, "base": 1, "recipe": {"rotate": 3}}])
        untrusted.ask("time")
        untrusted.ask("place", entries=[{"entry": 101, "base": 1, "recipe": {"rotate": 3}}])
        return untrusted.ask("trace", entry=101)

    def test_the_library_is_seen_in_other_threads_and_without_modes(self) -> None:
        for candidate in ("class ModelNew(torch.nn.Module):\n    def forward(self, a, b): return a @ b\n", IN_A_THREAD, WITHOUT_MODES):
            with self.subTest(candidate):
                traced = self.traced(PRODUCT, STUB + candidate)
                self.assertEqual(traced["foreign"], [], "a module without native code is no compiler")
                # How long it waits for the other thread says more of this machine than of the library's share.
                self.assertEqual([kernel["name"] for kernel in traced["kernels"] if kernel["library"]][0], "aten::mm")

    def test_what_torch_compile_generates_is_said_to_run(self) -> None:
        traced = self.traced(CHAIN, COMPILED)
        self.assertEqual(traced["foreign"], [])
        self.assertEqual([kernel["name"] for kernel in traced["kernels"] if kernel["library"]][0], "code generated by torch.compile")
        self.assertFalse({"aten::tanh", "aten::exp", "aten::mul"} & {kernel["name"] for kernel in traced["kernels"]}, "none of these ran")

    def test_an_operator_of_its_own_is_named_and_not_the_library_s(self) -> None:
        traced = self.traced(PRODUCT, OPERATOR)
        self.assertIn(("mine::product", False), [(kernel["name"], kernel["library"]) for kernel in traced["kernels"]])
        self.assertLess(traced["library_share"], 0.5)

    def test_a_candidate_that_fails_while_it_is_traced_is_told_of(self) -> None:
        traced = self.traced(PRODUCT, RAISES)
        self.assertEqual((traced["kernels"], traced["library_share"], traced["foreign"]), ([], None, []))


class Compilers(unittest.TestCase):
    def test_a_compiler_counts_where_its_native_code_is_mapped(self) -> None:
        line = "7f0000000000-7f0000001000 r-xp 00000000 08:01 1  {}\n"
        site, library = "/usr/lib/python3/site-packages", os.path.dirname(torch.__file__)
        cases = [
            ("numba", f"{site}/llvmlite/binding/libllvmlite.so", True),
            ("numba", f"{site}/numpy/_core/_multiarray_umath.so", False),
            ("numba", f"{library}/numba/x.so", False),
            ("cuda.core", f"{site}/cuda/bindings/driver.so", False),
            ("cuda.core", f"{site}/cuda/core/_event.so", True),
        ]
        for name, path, counts in cases:
            maps = mock.mock_open(read_data=line.format(path))
            with self.subTest(path), mock.patch.dict(sys.modules, {name: SimpleNamespace()}), mock.patch("builtins.open", maps):
                with mock.patch.dict(os.environ, {"HOME": "/nonexistent", "TMPDIR": "/nonexistent"}):
                    self.assertEqual(launches.foreign_code(), [name] if counts else [])


class Outputs(unittest.TestCase):
    def test_what_cannot_be_returned_is_named_with_its_place(self) -> None:
        tensor = torch.ones(1)
        pair = namedtuple("pair", "a b")
        cases = [
            (UserDict(last=tensor), "a value of type collections.UserDict; "),
            ((item for item in [tensor]), "a value of type builtins.generator; "),
            ([tensor, {"last": bytearray(1)}], 'a value of type builtins.bytearray at [1]["last"]; '),
            (OrderedDict([(3, pair(tensor, {1}))]), 'a value of type builtins.set at [3]["b"]; '),
        ]
        for value, start in cases:
            with self.subTest(start), self.assertRaises(Untransportable) as caught:
                encode(value, [], lambda tensor: tensor)
            self.assertTrue(str(caught.exception).startswith(start), str(caught.exception))
            self.assertTrue(str(caught.exception).endswith("objects of a problem's own classes that hold these"))
        with self.assertRaises(Untransportable) as caught:
            encode({"x" * 5000: [object()]}, [], lambda tensor: tensor)
        self.assertLess(len(str(caught.exception)), 500)

    def test_numpy_s_numbers_are_numbers(self) -> None:
        values = [np.float32(0.5), np.int64(3), np.bool_(True), np.complex64(1j), np.float16(np.inf), np.uint64(2**63), np.longdouble(2.0)]
        arrived = decode(encode(values, [], lambda tensor: tensor), [])
        self.assertEqual(arrived, [0.5, 3, True, 1j, float("inf"), 2**63, 2.0])
        self.assertEqual([type(value) for value in arrived], [float, int, bool, complex, float, int, float])
        Odd = type("Odd", (np.float32,), {"__float__": lambda self: 1.0})
        for value in (Odd(0.5), np.datetime64("2020-01-01"), np.ones(2)):
            with self.subTest(repr(value)), self.assertRaises(Untransportable):
                encode(value, [], lambda tensor: tensor)


class Advice(WorkerCase):
    def refused(self, candidate: str) -> dict[str, str]:
        """The error of a candidate for a problem in `product_p.py` with one constant."""
        path = os.path.join(self.folder, "candidate.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(candidate)
        untrusted = self.start("untrusted")
        with self.assertRaises(Failed) as caught:
            constants = {"dict": [["SIZE", 512]]}
            untrusted.ask("build", path=path, device="cpu", seed=1, threads=1, policy={"tf32": False}, problem_name="product_p.py", constants=constants)
            untrusted.ask("construct", init={"list": []}, tensors=[], state=[], form={})
        return caught.exception.error

    def test_the_problem_offers_its_constants_only(self) -> None:
        for source in ("from product_p import SIZE, Model", "import product_p\nclass ModelNew(product_p.Model): pass", "import product_p.inner"):
            message = self.refused(source)["message"]
            with self.subTest(source):
                self.assertIn("a candidate can import the problem's capitalised constants only: copy the class into the candidate", message)
                self.assertIn("product_p", message)
        self.assertNotIn("capitalised", self.refused("from math import Model")["message"])
        self.assertNotIn("capitalised", self.refused("import math\nmath.Model")["message"])

    def test_threads_are_recommended_where_processes_cannot_share_memory(self) -> None:
        text = "processes with shared memory are not available to candidates: use threads"
        shell = "class ModelNew:\n    def __init__(self):\n        {}\n"
        opened = "raise RuntimeError('unable to open shared memory object </torch_1_2> in read-write mode: Permission denied (13)\\nException raised')"
        error = self.refused(shell.format(opened))
        self.assertEqual(error["kind"], "construct")
        self.assertIn(f"Permission denied (13) ({text})\nException raised", error["message"])
        locked = "import multiprocessing.synchronize as s; s._multiprocessing = type('M', (), {'SemLock': lambda *a: open('/proc/none')}); s.Lock(ctx=None)"
        self.assertIn(text, self.refused(shell.format(locked))["message"])
        self.assertNotIn(text, self.refused(shell.format("open('/proc/none')"))["message"])


if __name__ == "__main__":
    unittest.main()
