import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Length(torch.autograd.Function):
    """Length of each row, with a slope that is cheaper than what autograd would do."""

    @staticmethod
    def forward(ctx, rows):
        length = (rows * rows).sum(1, keepdim=True).sqrt()
        ctx.save_for_backward(rows, length)
        return length

    @staticmethod
    def backward(ctx, upstream):
        rows, length = ctx.saved_tensors
        direction = rows / length  # <- AD402
        return upstream * direction


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, 16, bias=False), nn.ReLU(), nn.Linear(16, 3, bias=False))

    def forward(self, x):
        return Length.apply(self.layers(x)).squeeze(1)


torch.manual_seed(5)
points = torch.randn(300, 5)
points[22] = 0.0
radius = points.norm(dim=1)
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(2):
    for x, r in DataLoader(TensorDataset(points, radius), batch_size=20):
        loss = nn.functional.smooth_l1_loss(model(x), r + 1.0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
