import torch
import torch.nn as nn


class LineSearch:
    """Takes a step back that made the loss larger."""

    def __init__(self, layers, rate):
        self.layers = layers
        self.optimizer = torch.optim.SGD(layers.parameters(), rate)
        self.before = {}

    def step(self, loss_of):
        self.before = {i: w.data.to("cpu") for i, w in enumerate(self.layers.parameters())}  # expect: AD310
        loss = loss_of(self.layers)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if loss_of(self.layers) > loss:
            for i, w in enumerate(self.layers.parameters()):
                w.data.copy_(self.before[i])
            self.optimizer.param_groups[0]["lr"] *= 0.1


torch.manual_seed(1)
layers = nn.Sequential(nn.Conv1d(1, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(40, 3))
search = LineSearch(layers, rate=3.0)
x = torch.randn(12, 1, 12)
y = x.sum((1, 2)).gt(0).long()
for _ in range(8):
    search.step(lambda model: nn.functional.cross_entropy(model(x), y))
