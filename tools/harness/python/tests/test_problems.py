"""Kinds of problems, end to end in real workers: several sets of inputs."""

from __future__ import annotations

from support import Failed, WorkerCase

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

    def test_sets_that_are_none_are_refused(self) -> None:
        for source in (MODEL + "SHAPES = []\ndef get_inputs(n): return []\n", MODEL + "def get_inputs_list(): return []\n", MODEL + "SHAPES = [1]\n"):
            with self.assertRaises(Failed) as raised:
                self.load(self.start("trusted"), source, "cpu")
            self.assertEqual(raised.exception.error["kind"], "problem_shape")


if __name__ == "__main__":
    import unittest

    unittest.main()
