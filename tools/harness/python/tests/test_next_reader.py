"""Which candidates are asked what their callers would read; that the copies tell is tried on a GPU (`tests/adversarial/cases/threads`)."""

from __future__ import annotations

import unittest
from unittest import mock

import support  # noqa: F401 (finds the package)

from kernelwright_worker.next_reader import NextReader


def is_asked(source: str, is_cuda: bool = True) -> bool:
    return NextReader(mock.Mock(is_cuda=is_cuda), source)._is_asked


class Asked(unittest.TestCase):
    def test_those_that_name_another_stream_or_thread_are(self) -> None:
        for source in (
            "self.side = torch.cuda.Stream()",
            "with torch.cuda.stream(side):",
            "cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);",
            "auto side = at::cuda::getStreamFromPool();",
            "c10::cuda::CUDAStreamGuard guard(side);",
            "kernel<<<1, 1, 0, cudaStreamPerThread>>>();",
            "threading.Thread(target=work).start()",
            "std::thread work(later);",
            "ThreadPoolExecutor(1)",
        ):
            self.assertTrue(is_asked(source), source)
            self.assertFalse(is_asked(source, is_cuda=False), source)

    def test_those_that_keep_to_their_caller_s_are_not(self) -> None:
        for source in (
            "cudaStream_t stream = at::cuda::getCurrentCUDAStream();",
            "kernel<<<blocks, 256, 0, stream>>>(x); __syncthreads();",
            "torch.cuda.current_stream().synchronize()",
            "kernel[(n,)](x, out, BLOCK=256)",
        ):
            self.assertFalse(is_asked(source), source)


if __name__ == "__main__":
    unittest.main()
