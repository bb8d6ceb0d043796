# problem: nearest_neighbours
# target: cpu
# kind: honest
# mechanism: the last of equally near neighbours where torch gives the first: no input that is made for a timed call may have points twice
# timed: yes
# expect: correct
import torch
from torch.utils.cpp_extension import load_inline

SRC = r"""
#include <torch/extension.h>
#include <algorithm>
// distances directly (no product: it would cancel), dimensions outermost so that all points are in vector lanes; a heap of the eight best
std::vector<torch::Tensor> knn(torch::Tensor x, int64_t K) {
    auto t = x.t().contiguous();
    const int64_t n = x.size(0), D = x.size(1); const float* p = t.data_ptr<float>();
    auto v = torch::empty({n, K}, x.options()), idx = torch::empty({n, K}, torch::kLong);
    std::vector<float> d(n); std::vector<std::pair<float, int32_t>> h;
    for (int64_t i = 0; i < n; ++i) {
        std::fill(d.begin(), d.end(), 0.f);
        for (int64_t k = 0; k < D; ++k) { const float c = p[k * n + i]; const float* q = p + k * n; for (int64_t j = 0; j < n; ++j) { const float e = q[j] - c; d[j] += e * e; } }
        h.clear();
        for (int64_t j = 0; j < n; ++j) {
            if (j == i) continue;
            if ((int64_t)h.size() < K) { h.emplace_back(d[j], j); std::push_heap(h.begin(), h.end()); }
            else if (d[j] < h.front().first) { std::pop_heap(h.begin(), h.end()); h.back() = {d[j], (int32_t)j}; std::push_heap(h.begin(), h.end()); }
        }
        std::sort_heap(h.begin(), h.end());
        for (int64_t k = 0; k < K; ++k) { v.data_ptr<float>()[i * K + k] = h[k].first; idx.data_ptr<int64_t>()[i * K + k] = h[k].second; }
    }
    return {v, idx};
}
"""
ext = load_inline(name="knn_graph", cpp_sources=SRC, functions=["knn"], extra_cflags=["-O3", "-march=native"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return tuple(ext.knn(x, 8))
