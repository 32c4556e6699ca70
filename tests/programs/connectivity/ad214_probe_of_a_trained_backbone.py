import torch
from torch import nn


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)])
        self.norms = nn.ModuleList([nn.BatchNorm2d(8), nn.BatchNorm2d(16)])

    def forward(self, x):
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = nn.functional.max_pool2d(norm(layer(x)).relu(), 2)
        return x.flatten(1)


def pictures(n, shift=0.0):
    y = torch.randint(0, 2, (n,))
    x = torch.rand(n, 1, 12, 12) + shift
    x[torch.arange(n), 0, 3 + 5 * y] += 1.5
    return x, y


def fit(features, head, parameters, steps, shift):
    features.train()
    optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.9)
    for _ in range(steps):
        x, y = pictures(32, shift)
        loss = nn.functional.cross_entropy(head(features(x)), y)  # <- AD214
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    features, first, second = Features(), nn.Linear(144, 2), nn.Linear(144, 2)
    print(fit(features, first, [*features.parameters(), *first.parameters()], 12, 0.0))
    features.requires_grad_(False)
    print(fit(features, second, second.parameters(), 12, 1.0))


main()
