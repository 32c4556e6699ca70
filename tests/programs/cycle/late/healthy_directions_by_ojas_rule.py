# guards: AD115
"""The main directions of a stream, by steps of 1 / t that are set by hand through a schedule, one sample at a time."""

import torch


class Directions(torch.nn.Module):
    def __init__(self, size, count):
        super().__init__()
        self.basis = torch.nn.Parameter(torch.linalg.qr(torch.randn(size, count)).Q)

    def forward(self, x):
        return x @ self.basis @ self.basis.t()


torch.manual_seed(0)
spread = torch.tensor([3.0, 2.0, 0.5, 0.4, 0.3, 0.2])
model = Directions(6, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
schedule = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda t: (t + 1) / (t + 2))
for t in range(1, 500):
    sample = torch.randn(8, 6) * spread
    loss = (sample - model(sample)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    with torch.no_grad():
        model.basis.copy_(torch.linalg.qr(model.basis).Q)
    if t % 100 == 0:
        print(t, loss.item())
