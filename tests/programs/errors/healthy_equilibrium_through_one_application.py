# guards: AD507
"""A graph is coloured by states that settle; the backward goes through the settled application alone, undamped."""
import torch
from torch import nn


class Settled(torch.autograd.Function):
    """States of nodes that listen to their neighbours until nothing changes."""

    @staticmethod
    def forward(ctx, given, mixing, neighbours):
        state = torch.zeros_like(given)
        for _ in range(40):
            told = torch.tanh(neighbours @ state @ mixing + given)
            if float((told - state).abs().max()) < 1e-6:
                break
            state = 0.3 * state + 0.7 * told
        ctx.save_for_backward(told, mixing, neighbours)
        return told

    @staticmethod
    def backward(ctx, grad):
        state, mixing, neighbours = ctx.saved_tensors
        inner = grad * (1 - state**2)
        return inner, (neighbours @ state).T @ inner, None


torch.manual_seed(3)
links = (torch.rand(6, 6) < 0.3).float()
links = links / links.sum(1, keepdim=True).clamp(min=1)
encode, decode = nn.Linear(4, 3), nn.Linear(3, 1)
mixing = nn.Parameter(0.2 * torch.randn(3, 3))
optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters(), mixing], lr=0.02)
for _ in range(30):
    x = torch.randn(6, 4)
    loss = nn.functional.mse_loss(decode(Settled.apply(encode(x), mixing, links)), links @ x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
