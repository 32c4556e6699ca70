import torch
from torch import nn


class Keeper:
    def __init__(self):
        self.best, self.weights = float("inf"), {}

    def see(self, model, error):
        if error < self.best - 0.2:
            self.best = error
            self.weights = {name: weight.data.to("cpu") for name, weight in model.named_parameters()}  # expect: AD310

    def restore(self, model):
        for name, weight in model.named_parameters():
            weight.data = self.weights[name].to(weight.device)


torch.manual_seed(0)
model = nn.Linear(8, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
inputs = torch.randn(64, 8)
labels = inputs.argmax(1) % 3
keeper = Keeper()
for epoch in range(5):
    for rows in torch.randperm(64).split(16):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs[rows]), labels[rows]).backward()
        optimizer.step()
    with torch.no_grad():
        keeper.see(model, nn.functional.cross_entropy(model(inputs), labels).item())
keeper.restore(model)
