# problem: attention
# mechanism: the vendor's own fused attention
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v):
        with sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.MATH], set_priority=True):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v)
