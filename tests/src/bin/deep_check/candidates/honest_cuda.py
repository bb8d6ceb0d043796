import torch

SOURCE = r"""
extern "C" __global__ void center(const float* x, float* out, int n) {
    __shared__ float part[256];
    const float* row = x + (long long)blockIdx.x * n;
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 256) sum += row[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    for (int i = threadIdx.x; i < n; i += 256) out[(long long)blockIdx.x * n + i] = row[i] - part[0] / n;
}
"""
center = torch.cuda._compile_kernel(SOURCE, "center", nvcc_options=["-lineinfo"])


def kernel(x):
    out = torch.empty_like(x)
    center((x.shape[0], 1, 1), (256, 1, 1), (x, out, x.shape[1]))
    return out
