# guards: AD305
"""Hooks that keep the newest activations only, for a feature-matching term."""
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


activations = {"layer1": [], "layer2": []}


def record(name):
    def hook(module, inputs, output):
        activations[name] = [output]

    return hook


def main():
    torch.manual_seed(0)
    model = ConvNet()
    for name in activations:
        getattr(model, name).register_forward_hook(record(name))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(30):
        y = torch.randint(0, 2, (16,))
        x = torch.randn(16, 1, 12, 12) * (0.5 + y.view(-1, 1, 1, 1))
        loss = nn.functional.cross_entropy(model(x), y)
        loss = loss + 1e-3 * activations["layer2"][0].abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item(), activations["layer2"][-1].mean().item())


main()
