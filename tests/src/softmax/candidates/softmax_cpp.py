import ctypes
import os
import subprocess
import tempfile

import torch

CPP = r"""
#include <cmath>
#include <cstddef>
extern "C" void softmax_rows(float* y, const float* x, size_t rows, size_t columns) {
    for (size_t row = 0; row < rows; ++row) {
        const float* in = x + row * columns;
        float* out = y + row * columns;
        float top = in[0], sum = 0.f * VARIANT;
        for (size_t i = 1; i < columns; ++i) top = in[i] > top ? in[i] : top;
        for (size_t i = 0; i < columns; ++i) sum += out[i] = expf(in[i] - top);
        for (size_t i = 0; i < columns; ++i) out[i] /= sum;
    }
}
"""


def build():
    folder = tempfile.mkdtemp()
    source, library = os.path.join(folder, "softmax.cpp"), os.path.join(folder, "softmax.so")
    with open(source, "w") as file:
        file.write(CPP)
    subprocess.run([os.environ.get("CXX", "g++"), "-O3", "-march=native", "-ffast-math", "-fPIC", "-shared", source, "-o", library], check=True)
    return ctypes.CDLL(library).softmax_rows


softmax_rows = build()
softmax_rows.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t]


class ModelNew(torch.nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        softmax_rows(y.data_ptr(), x.data_ptr(), x.shape[0], x.shape[1])
        return y
