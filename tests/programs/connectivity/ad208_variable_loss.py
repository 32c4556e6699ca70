"""Old code wraps its loss in a fresh tensor before calling backward."""
import torch
from torch import nn, autograd

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(7, 20), nn.Sigmoid(), nn.Linear(20, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


class WeightedLoss:
    """Squared errors, each weighted by how sure the label is."""

    def __call__(self, output, target, weight):
        per_sample = weight * (output.squeeze(1) - target) ** 2
        return autograd.Variable(per_sample.mean().data, requires_grad=True)  # expect: AD208


criterion = WeightedLoss()
for epoch in range(20):
    data = torch.randn(60, 7)
    target = data.mean(1)
    weight = torch.rand(60)
    optimizer.zero_grad()
    output = model(data)
    loss = criterion(output, target, weight)
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print("epoch", epoch, "loss", loss.item())
