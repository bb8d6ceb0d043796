# +++
# title = "Bias, hard-swish and residual with load_inline: ATen tensors, TORCH_CHECK and at::parallel_for"
# languages = ["cpp"]
# bottleneck = "memory_bandwidth"
# sources = [
#   "https://docs.pytorch.org/docs/stable/cpp_extension.html",
#   "https://docs.pytorch.org/cppdocs/notes/tensor_creation.html",
#   "https://docs.pytorch.org/docs/stable/generated/torch.nn.Hardswish.html",
# ]
# tags = ["load-inline", "torch", "fusion", "activation"]
# problem = "problems/inline_bias_hardswish.py"
# evidence = [
#   { target = "x86_64-avx512", status = "correct", text = "0.99x (0.63 to 1.42) against torch.compile; 6.43 ms, eager 12.9 ms, torch.compile 6.00 ms; 4096 x 2048 float32, 2 shared cores of a Zen 4 EPYC, busy machine" },
# ]
# +++
"""`hardswish(x + bias) + residual` with a bias along the last dimension, float32, as a C++ extension that is built by `load_inline`.

The form for C++ that wants tensors: arguments and result are `torch::Tensor`, checks are `TORCH_CHECK`, threads are those of torch's own
pool. It costs a longer build than `extern "C"` functions on addresses; what it saves is the code that turns tensors into pointers.

- `at::parallel_for(begin, end, grain, f)` splits the range over torch's threads and stays on one thread below `grain` elements. Rows are
  the unit here, so the grain is given in rows.
- Inside the lambda there are only raw pointers: accessors and `tensor.data_ptr()` in the inner loop would keep it from vectorising.
- The function keeps to tensor shapes, addresses, `empty_like`, checks and `parallel_for`: such sources compile in seconds where the
  evaluator's own headers can stand in for `torch/extension.h`.
- load_inline passes no optimisation flag by itself: without `-O3` in `extra_cflags` the loop is unoptimised code, without `-march=native`
  SSE code, and without `-fopenmp` `at::parallel_for` runs on one thread (its header asks for `_OPENMP`).
"""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>

static inline float hardswish(float x) {
    const float shifted = x + 3.0f;
    const float low = shifted < 0.0f ? 0.0f : shifted;
    return x * (low > 6.0f ? 6.0f : low) * (1.0f / 6.0f);
}

torch::Tensor bias_hardswish(const torch::Tensor& input, const torch::Tensor& bias, const torch::Tensor& other) {
    TORCH_CHECK(input.scalar_type() == torch::kFloat32 && bias.scalar_type() == torch::kFloat32, "expected float32");
    TORCH_CHECK(input.sizes() == other.sizes() && other.scalar_type() == torch::kFloat32, "expected a residual like the input");
    TORCH_CHECK(input.dim() > 0 && bias.dim() == 1 && bias.size(0) == input.size(-1), "expected a bias as long as the last dimension");
    const auto x = input.contiguous(), b = bias.contiguous(), residual = other.contiguous();
    auto out = torch::empty_like(x);
    const int64_t cols = x.size(-1);
    const int64_t rows = cols > 0 ? x.numel() / cols : 0;
    const float* in = x.data_ptr<float>();
    const float* shift = b.data_ptr<float>();
    const float* add = residual.data_ptr<float>();
    float* result = out.data_ptr<float>();
    at::parallel_for(0, rows, (32768 + cols) / (cols + 1), [=](int64_t from, int64_t to) {
        for (int64_t i = from; i < to; ++i) {
            const float* __restrict xi = in + i * cols;
            const float* __restrict ri = add + i * cols;
            float* __restrict oi = result + i * cols;
            for (int64_t j = 0; j < cols; ++j) oi[j] = hardswish(xi[j] + shift[j]) + ri[j];
        }
    });
    return out;
}
"""

EXTENSION = load_inline(
    name="bias_hardswish_extension",
    cpp_sources=[SOURCE],
    functions=["bias_hardswish"],
    extra_cflags=["-O3", "-march=native", "-fopenmp", "-fno-trapping-math"],
)

class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(features) * 0.02)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        return EXTENSION.bias_hardswish(x, self.bias, residual)
