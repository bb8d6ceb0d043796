# problem: decaying_state
# target: both
# kind: honest
# mechanism: a state space scan in chunks, which overflows elsewhere where signs are flipped and states grow
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    """Chunks of 32: quadratic within, one state handed on between."""

    def forward(self, x, log_a, b, c):
        n, t, h, p = x.shape
        q = 32
        m = -(-t // q)
        pad = m * q - t
        if pad:
            f = torch.nn.functional.pad
            x, log_a = f(x, (0, 0, 0, 0, 0, pad)), f(log_a, (0, 0, 0, pad))
            b, c = f(b, (0, 0, 0, pad)), f(c, (0, 0, 0, pad))
        x = x.view(n, m, q, h, p).permute(0, 1, 3, 2, 4)  # n m h q p
        b, c = b.view(n, m, 1, q, -1), c.view(n, m, 1, q, -1)
        a = log_a.view(n, m, q, h).permute(0, 1, 3, 2).double().cumsum(-1)  # n m h q
        low = torch.ones(q, q, dtype=torch.bool, device=x.device).tril()
        decay = (a[..., :, None] - a[..., None, :]).masked_fill_(~low, float("-inf")).exp_().float()
        y = torch.matmul(torch.matmul(c, b.mT) * decay, x)
        # the state at the end of each chunk, from that chunk alone
        tail = (a[..., -1:] - a).exp_().float()
        own = torch.matmul((x * tail[..., None]).mT, b)  # n m h p s
        whole = a[..., -1].exp().float()[..., None, None]
        state = torch.zeros_like(own[:, 0])
        before = []
        for i in range(m):
            before.append(state)
            state = torch.addcmul(own[:, i], state, whole[:, i])
        before = torch.stack(before, 1)
        y += torch.matmul(c * a.exp().float()[..., None], before.mT)
        return y.permute(0, 1, 3, 2, 4).reshape(n, m * q, h, p)[:, :t], state
