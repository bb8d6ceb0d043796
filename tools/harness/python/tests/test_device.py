"""What a worker sees of a machine's GPUs."""

from __future__ import annotations

import os
import unittest
from unittest import mock

import support  # noqa: F401 (finds the package)
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


if __name__ == "__main__":
    unittest.main()
