import torch
from torch.func import grad


def forward(weights, x):
    return torch.sigmoid(torch.tanh(x @ weights["inner"]) @ weights["outer"]).squeeze(-1)


def loss(weights, x, labels):
    return torch.nn.functional.binary_cross_entropy(forward(weights, x), labels)


def update(weights, x, labels, lr=0.5):
    g = grad(loss)(weights, x, labels)
    weights = {name: w - lr * g[name] for name, w in weights.items()}  # <- AD116
    return loss(weights, x, labels) if x.shape[0] == 0 else 0.0


torch.manual_seed(0)
weights = {"inner": torch.randn(2, 16) * 0.5, "outer": torch.randn(16, 1) * 0.5}
points = torch.randn(300, 2)
labels = (points[:, 0] * points[:, 1] > 0).float()
for epoch in range(6):
    for i in range(0, 300, 50):
        update(weights, points[i : i + 50], labels[i : i + 50])
    print(epoch, float(loss(weights, points, labels)))
