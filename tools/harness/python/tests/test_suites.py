"""The generated suites: their size, that they come out the same every time, and that their files are problems."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

from support import ROOT, WorkerCase

import torch

from kernelwright_suites import aten


def generate() -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    command = [sys.executable, "-B", str(ROOT / "suite.py"), "aten"]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


class Sets(unittest.TestCase):
    def test_what_reads_beside_strided_inputs_or_draws_numbers_gives_no_set(self) -> None:
        call = aten.Call.of((torch.rand(4, 4),), {})
        assert call is not None
        for function, names in (
            (lambda x: x + 1, {"float32 small", "float32 medium", "float32 strided"}),
            # Whatever memory holds between the elements shows, now and then.
            (lambda x: x.as_strided((x.shape[0] + 1,), (1,)), {"float32 small", "float32 medium"}),
            (lambda x: x + torch.rand_like(x), None),
        ):
            found = aten._sets(SimpleNamespace(name="of_this_test", op=function), call, "float32")
            self.assertEqual(None if isinstance(found, str) else found.keys(), names)


class Aten(WorkerCase):
    texts: list[str]

    @classmethod
    def setUpClass(cls) -> None:
        with ThreadPoolExecutor() as threads:
            cls.texts = list(threads.map(lambda _: generate(), range(2)))
        lines = [json.loads(line) for line in cls.texts[0].splitlines()]
        cls.problems = {line["name"]: line["source"] for line in lines if "name" in line}
        cls.excluded = {line["excluded"]: line["reason"] for line in lines if "excluded" in line}

    def test_at_least_160_operators_and_a_reason_for_every_other(self) -> None:
        self.assertGreaterEqual(len(self.problems), 160)
        self.assertFalse(self.problems.keys() & self.excluded.keys())
        self.assertTrue(all(self.excluded.values()))
        for name in ("add", "matmul", "softmax", "nn.functional.conv2d", "nn.functional.scaled_dot_product_attention", "gather", "where", "sort"):
            self.assertIn(name, self.problems)

    def test_where_writes_meet_on_one_element_there_is_no_problem(self) -> None:
        for name in ("scatter", "index_put", "nn.functional.max_unpool1d", "nn.functional.max_unpool2d", "nn.functional.max_unpool3d"):
            self.assertIn("which of several writes", self.excluded.get(name, "a problem"))

    def test_a_gpu_takes_them_as_well(self) -> None:
        self.assertNotRegex(self.problems["tensor_split"], r"tensor_split\(x, y")
        self.assertNotIn("float32 strided", self.problems["nn.functional.channel_shuffle"])

    def test_the_files_are_the_same_every_time(self) -> None:
        self.assertEqual(*self.texts)

    def test_the_files_are_problems_with_several_dtypes_and_sizes(self) -> None:
        trusted = self.start("trusted")
        for name, dtypes in (("add", ("float32", "int64", "bool", "bfloat16", "float16")), ("gather", ("float32", "int64")), ("bitwise_and", ("int64", "bool"))):
            loaded, _fds = self.load(trusted, self.problems[name], "cpu")
            self.assertTrue({f"{dtype} medium" for dtype in dtypes} <= set(loaded["sets"]), loaded["sets"])
            for index, label in enumerate(loaded["sets"]):
                facts = trusted.ask("select", set=index)
                self.assertTrue(facts["inputs"][0].startswith(label.split()[0]), (label, facts["inputs"]))


if __name__ == "__main__":
    unittest.main()
