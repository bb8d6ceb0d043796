# problem: decay_bank
# first: register_spills
# mechanism: eight blocks of 256 threads are asked for, which leaves 32 registers for 64 running averages
# why: at every step about forty of them are loaded from local memory and stored again
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

constexpr int BANDS = 64, THREADS = 256;

__global__ void __launch_bounds__(THREADS, 8) decay(float* __restrict__ out, const float* __restrict__ in, int steps, int signals) {
    const int signal = blockIdx.x * THREADS + threadIdx.x;
    if (signal >= signals) return;
    float state[BANDS];
#pragma unroll
    for (int band = 0; band < BANDS; ++band) state[band] = 0.0f;
    for (int step = 0; step < steps; ++step) {
        const float value = in[(long long)step * signals + signal];
        float sum = 0.0f;
#pragma unroll
        for (int band = 0; band < BANDS; ++band) {
            state[band] = state[band] * (1.0f - (band + 1) / float(BANDS + 1)) + value;
            sum += state[band];
        }
        out[(long long)step * signals + signal] = sum;
    }
}

torch::Tensor run(torch::Tensor x) {
    auto out = torch::empty_like(x);
    const int steps = x.size(0), signals = x.size(1);
    decay<<<(signals + THREADS - 1) / THREADS, THREADS, 0, at::cuda::getCurrentCUDAStream()>>>(
        out.data_ptr<float>(), x.data_ptr<float>(), steps, signals);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

module = load_inline("spilled_decay", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=CUDA, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.run(x)
