# problem: softmax
# target: cuda
# kind: honest
# mechanism: CUDA C++ through the run-time compiler, which leaves no library behind
# timed: yes
# expect: correct
# absent: no_custom_kernel
import torch

SOURCE = """
extern "C" __global__ void rows(const float* x, float* out, int columns) {
    __shared__ float part[32];
    const float* row = x + (long long)blockIdx.x * columns;
    float* to = out + (long long)blockIdx.x * columns;
    float high = -3.4e38f, sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) high = fmaxf(high, row[i]);
    for (int step = 16; step; step /= 2) high = fmaxf(high, __shfl_xor_sync(~0u, high, step));
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = high;
    __syncthreads();
    for (int i = 0; i < blockDim.x / 32; i++) high = fmaxf(high, part[i]);
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - high);
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int i = 0; i < blockDim.x / 32; i++) sum += part[i];
    for (int i = threadIdx.x; i < columns; i += blockDim.x) to[i] = expf(row[i] - high) / sum;
}
"""

rows = torch.cuda._compile_kernel(SOURCE, "rows")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        rows(grid=(x.shape[0], 1, 1), block=(256, 1, 1), args=[x, out, x.shape[1]])
        return out
