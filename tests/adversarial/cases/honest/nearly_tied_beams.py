# problem: beam_step
# target: cpu
# kind: honest
# mechanism: of scores that are nearly tied other last digits decide, and of those that are tied the first one is taken
# expect: correct
import ctypes
import os
import subprocess

import torch
from torch import nn

SOURCE = r"""
#include <algorithm>
#include <cmath>
#include <vector>

struct Score { float score; long beam, word; };

static bool before(const Score& a, const Score& b) { return (a.score != a.score && b.score == b.score) || a.score > b.score; }

extern "C" void step(const float* logits, const float* totals, const long* history, float* scores, long* beams, long* words,
                     long batch, long width, long vocabulary, long said, long wanted, float penalty) {
    std::vector<float> row(vocabulary);
    std::vector<Score> best;
    for (long b = 0; b < batch; ++b) {
        best.clear();
        for (long k = 0; k < width; ++k) {
            const float* given = logits + (b * width + k) * vocabulary;
            std::copy(given, given + vocabulary, row.begin());
            for (long i = 0; i < said; ++i) {
                long word = history[(b * width + k) * said + i];
                row[word] = given[word] > 0 ? given[word] / penalty : given[word] * penalty;
            }
            float largest = row[0];
            bool no_number = false;
            for (float x : row) { largest = x > largest ? x : largest; no_number |= x != x; }
            double sum = 0;
            for (float x : row) sum += expf(x - largest);
            float share = no_number ? NAN : (float)std::log(sum);
            for (long i = 0; i < vocabulary; ++i) {
                float score = (row[i] - largest - share) + totals[b * width + k];
                if ((long)best.size() == wanted && !(score > best.back().score) && score == score) continue;
                Score found{score, k, i};
                best.insert(std::upper_bound(best.begin(), best.end(), found, before), found);
                if ((long)best.size() > wanted) best.pop_back();
            }
        }
        for (long i = 0; i < wanted; ++i) {
            scores[b * wanted + i] = best[i].score;
            beams[b * wanted + i] = best[i].beam;
            words[b * wanted + i] = best[i].word;
        }
    }
}
"""
folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "build")
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "step.cpp"), "w") as file:
    file.write(SOURCE)
subprocess.run(["g++", "-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC", "-o", os.path.join(folder, "step.so"), os.path.join(folder, "step.cpp")], check=True)
library = ctypes.CDLL(os.path.join(folder, "step.so"))


class ModelNew(nn.Module):
    def __init__(self, penalty):
        super().__init__()
        self.penalty = penalty

    def forward(self, logits, totals, history):
        logits, totals, history = logits.contiguous(), totals.contiguous(), history.contiguous()
        (batch, width, vocabulary), said, wanted = logits.shape, history.shape[2], 2 * logits.shape[1]
        scores = torch.empty(batch, wanted)
        beams, words = (torch.empty(batch, wanted, dtype=torch.long) for _ in range(2))
        pointers = (ctypes.c_void_p(t.data_ptr()) for t in (logits, totals, history, scores, beams, words))
        library.step(*pointers, *map(ctypes.c_long, (batch, width, vocabulary, said, wanted)), ctypes.c_float(self.penalty))
        return {"scores": scores, "beams": beams, "words": words, "ends": words == 2}
