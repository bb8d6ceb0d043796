"""What a worker sees of a machine's GPUs."""

from __future__ import annotations

import os
import unittest
from collections.abc import Callable
from unittest import mock

import support  # noqa: F401 (finds the package)
import torch
from kernelwright_worker import device
from kernelwright_worker.channel import WorkerError


class OnlyOne(unittest.TestCase):
    def seen(self, number: int, listed: str | None) -> str:
        """What CUDA is told to see where `listed` is what it was told before."""
        surroundings = {} if listed is None else {"CUDA_VISIBLE_DEVICES": listed}
        none = mock.patch.object(device.torch.cuda, "is_available", lambda: False)
        with none, mock.patch.object(device, "_shown", []), mock.patch.dict(os.environ, surroundings):
            if listed is None:
                os.environ.pop("CUDA_VISIBLE_DEVICES", None)
            self.assertEqual(device._show_only(number), 0)
            self.assertEqual(device._show_only(number), 0, "asked again, it is still the first")
            return os.environ["CUDA_VISIBLE_DEVICES"]

    def test_a_number_is_one_among_those_that_were_to_be_seen(self) -> None:
        self.assertEqual([self.seen(2, None), self.seen(0, "3,1"), self.seen(1, "3,1"), self.seen(0, "GPU-0fc7")], ["2", "3", "1", "GPU-0fc7"])

    def test_where_there_is_none_of_that_number_none_is_seen(self) -> None:
        self.assertEqual([self.seen(2, "3,1"), self.seen(0, "")], ["", ""])

    def test_where_cuda_has_looked_before_it_keeps_its_number(self) -> None:
        count = mock.patch.object(device.torch._C, "_cuda_getDeviceCount", lambda: 4, create=True)
        with count, mock.patch.object(device.torch.cuda, "is_available", lambda: True), mock.patch.object(device, "_shown", [2]):
            self.assertEqual(device._show_only(2), 2)

    def test_a_process_has_one_for_good(self) -> None:
        with mock.patch.object(device, "_shown", [1]), self.assertRaises(WorkerError):
            device._show_only(0)


class Precision(unittest.TestCase):
    def after(self, change: Callable[[], None], is_cuda: bool = True) -> tuple[bool, bool, str, str]:
        """Whether TF32 is taken over from the code, and what is allowed then: whether the flag is on, the words for it, and the policy."""
        ours = device.Device("cpu")
        ours.is_cuda = is_cuda
        self.addCleanup(device.Device("cpu").configure, torch.get_num_threads(), None)
        ours.configure(2, None)
        change()
        taken = ours.takes_over_tf32()
        self.assertEqual(torch.get_num_threads(), 2)
        self.assertFalse(ours.takes_over_tf32(), "only what was changed since")
        return taken, torch.backends.cuda.matmul.allow_tf32, torch.get_float32_matmul_precision(), ours.precision.value

    def test_a_problem_may_allow_tf32(self) -> None:
        for change in (_allow_in_products, _allow_in_convolutions, lambda: torch.set_float32_matmul_precision("high")):
            self.assertEqual(self.after(change), (True, True, "high", "tf32"))

    def test_what_else_a_problem_changes_is_set_again(self) -> None:
        self.assertEqual(self.after(_allow_in_products, is_cuda=False), (False, False, "highest", "float32"))
        self.assertEqual(self.after(lambda: torch.set_num_threads(1)), (False, False, "highest", "float32"))


def _allow_in_products() -> None:
    torch.backends.cuda.matmul.allow_tf32 = True


def _allow_in_convolutions() -> None:
    torch.backends.cudnn.allow_tf32 = True


if __name__ == "__main__":
    unittest.main()
