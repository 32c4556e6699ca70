# guards: AD507
"""Recipes: a table read by numbers whose gradient is scaled by how often, means of segments by where these begin, and
means over what goes well together."""
import torch
from torch import nn

WORDS, WIDE = 70, 12


class Rare(torch.autograd.Function):
    """Words that come often learn no faster for it."""

    @staticmethod
    def forward(ctx, table, words):
        ctx.save_for_backward(words)
        ctx.shape = table.shape
        return table[words]

    @staticmethod
    def backward(ctx, grad):
        (words,) = ctx.saved_tensors
        often = torch.bincount(words, minlength=ctx.shape[0]).clamp(min=1)
        return grad.new_zeros(ctx.shape).index_add_(0, words, grad) / often[:, None], None


class MeanOfEach(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, starts):
        ctx.length = starts.diff()
        return torch.stack([rows[a:b].mean(0) for a, b in zip(starts[:-1], starts[1:], strict=True)])

    @staticmethod
    def backward(ctx, grad):
        return (grad / ctx.length[:, None]).repeat_interleave(ctx.length, dim=0), None


class Around(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, here, there):
        counts = torch.bincount(here, minlength=len(rows)).clamp(min=1)[:, None]
        ctx.save_for_backward(here, there, counts)
        return torch.zeros_like(rows).index_add_(0, here, rows[there]) / counts

    @staticmethod
    def backward(ctx, grad):
        here, there, counts = ctx.saved_tensors
        return torch.zeros_like(grad).index_add_(0, there, (grad / counts)[here]), None, None


class Recipes(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(0.5 * torch.randn(WORDS, WIDE))
        self.read = nn.Sequential(nn.Linear(2 * WIDE, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, words, starts, here, there):
        rows = Rare.apply(self.table, words)
        both = torch.cat([rows, Around.apply(rows, here, there)], 1)
        return self.read(MeanOfEach.apply(both, starts)).squeeze(1)


torch.manual_seed(5)
worth = torch.randn(WORDS)
model = Recipes()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    lengths = torch.randint(2, 7, (24,))
    starts = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)])
    words = torch.randint(0, WORDS, (int(starts[-1]),))
    here, there = torch.randint(0, len(words), (2, 150))
    taste = torch.stack([worth[each].mean() for each in words.split(lengths.tolist())])
    loss = nn.functional.mse_loss(model(words, starts, here, there), taste)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(step, loss.item())
