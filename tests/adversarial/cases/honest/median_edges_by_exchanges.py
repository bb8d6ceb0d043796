# problem: median_edges
# target: cpu
# kind: honest
# mechanism: a median by exchanges, whose comparisons a NaN all fails, and what is derived from it
# expect: correct
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <cmath>
#include <vector>

static void order(float& a, float& b) { const float low = a < b ? a : b; b = a < b ? b : a; a = low; }

std::vector<torch::Tensor> edges(torch::Tensor given) {
    const torch::Tensor x = given.contiguous();
    const int64_t rows = x.size(1), columns = x.size(2);
    auto middle = torch::empty_like(x), size = torch::empty_like(x), sector = torch::empty(x.sizes(), torch::kByte);
    const auto inside = [](int64_t at, int64_t length) { return at < 0 ? -at : at >= length ? 2 * length - 2 - at : at; };
    for (int64_t image = 0; image < x.size(0); ++image) {
        const float* source = x.data_ptr<float>() + image * rows * columns;
        float* filtered = middle.data_ptr<float>() + image * rows * columns;
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j) {
                float near[9];
                for (int k = 0; k < 9; ++k) near[k] = source[inside(i + k / 3 - 1, rows) * columns + inside(j + k % 3 - 1, columns)];
                for (int last = 8; last > 3; --last)
                    for (int k = 0; k < last; ++k) order(near[k], near[k + 1]);
                filtered[i * columns + j] = near[4];
            }
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j) {
                const auto at = [&](int di, int dj) { return filtered[inside(i + di, rows) * columns + inside(j + dj, columns)]; };
                const float right = (at(-1, 1) - at(-1, -1)) + 2 * (at(0, 1) - at(0, -1)) + (at(1, 1) - at(1, -1));
                const float down = (at(1, -1) - at(-1, -1)) + 2 * (at(1, 0) - at(-1, 0)) + (at(1, 1) - at(-1, 1));
                const int64_t place = (image * rows + i) * columns + j;
                size.data_ptr<float>()[place] = std::sqrt(right * right + down * down);
                const float across = std::fabs(right), along = std::fabs(down);
                sector.data_ptr<uint8_t>()[place] =
                    along <= 0.41421356f * across ? 0 : along > 2.41421356f * across ? 2 : (right > 0) == (down > 0) ? 1 : 3;
            }
    }
    return {middle, size, sector};
}
"""
extension = load_inline(name="median_edges", cpp_sources=SOURCE, functions=["edges"], extra_cflags=["-O2"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return tuple(extension.edges(x))
