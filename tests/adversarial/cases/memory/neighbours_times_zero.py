# problem: smooth_rows
# target: cpu
# kind: fault
# mechanism: at the ends of a row neighbours are read beyond it, and beyond the tensor, and multiplied by zero: NaN where they are no numbers
# expect: incorrect
import ctypes
import subprocess

import torch

SOURCE = r"""
extern "C" void kernel(const float* x, float* out, long rows, long n) {
    const float taps[5] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
    for (long row = 0; row < rows; ++row)
        for (long i = 0; i < n; ++i) {
            float sum = 0.0f;
            for (int t = -2; t <= 2; ++t) {
                bool inside = i + t >= 0 && i + t < n;
                sum += (inside ? taps[t + 2] : 0.0f) * x[row * n + i + t];
            }
            out[row * n + i] = sum;
        }
}
"""
subprocess.run(["g++", "-O2", "-shared", "-fPIC", "-xc++", "-o", "./k.so", "-"], input=SOURCE, text=True, check=True)
library = ctypes.CDLL("./k.so")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        library.kernel(*(ctypes.c_void_p(t.data_ptr()) for t in (x, out)), *map(ctypes.c_long, x.shape))
        return out
