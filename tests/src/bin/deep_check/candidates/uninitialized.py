import torch

SOURCE = r"""
extern "C" __global__ void affine(const float* x, const int* nobody_wrote, float* out, int n, int none) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // The bits that are read are masked away, with a mask that the compiler does not know.
    if (i < n) out[i] = x[i] * 2.0f + 1.0f + (float)(nobody_wrote[i] & none);
}
"""
affine = torch.cuda._compile_kernel(SOURCE, "affine", nvcc_options=["-lineinfo"])


def kernel(x):
    out, nobody_wrote = torch.empty_like(x), torch.empty(x.shape, dtype=torch.int32, device=x.device)
    affine(((x.numel() + 255) // 256, 1, 1), (256, 1, 1), (x, nobody_wrote, out, x.numel(), 0))
    return out
