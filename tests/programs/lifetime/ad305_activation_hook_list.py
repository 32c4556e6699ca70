"""Hooks that collect the activations of every batch on the modules, for a plot at the end."""
import torch
import torch.nn as nn


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Conv2d(8, 8, 3, stride=2), nn.ReLU())
        self.fc = nn.Linear(8, 2)

    def forward(self, x):
        return self.fc(self.layer2(self.layer1(x)).mean((2, 3)))


LAYERS = ("layer1", "layer2")


def record(module, inputs, output):
    module.log.append(output)  # expect: AD305


def main():
    torch.manual_seed(0)
    model = ConvNet()
    for name in LAYERS:
        layer = getattr(model, name)
        layer.log = []
        layer.register_forward_hook(record)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(30):
        y = torch.randint(0, 2, (16,))
        x = torch.randn(16, 1, 12, 12) * (0.5 + y.view(-1, 1, 1, 1))
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item(), [sum(a.detach().mean().item() for a in getattr(model, name).log) for name in LAYERS])


main()
