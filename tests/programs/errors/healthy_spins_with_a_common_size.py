# guards: AD507
"""Binary codes for retrieval: signs times the mean size of a row, and a gradient that passes where it can matter."""

import torch
from torch import nn


class Code(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z):
        ctx.save_for_backward(z)
        return torch.where(z >= 0, 1.0, -1.0) * z.abs().mean(dim=-1, keepdim=True)

    @staticmethod
    def backward(ctx, grad):
        (z,) = ctx.saved_tensors
        return grad * (z.abs() <= 2).to(grad.dtype)


torch.manual_seed(7)
encode, decode = nn.Linear(10, 12), nn.Linear(12, 10)
optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=5e-3)
basis = torch.randn(4, 10)
for _ in range(30):
    x = torch.randn(32, 4) @ basis
    loss = nn.functional.mse_loss(decode(Code.apply(encode(x))), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
