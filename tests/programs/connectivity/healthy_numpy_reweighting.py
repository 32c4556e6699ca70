# guards: AD216
"""Class weights recomputed each step in NumPy from the predictions' confusion, and used as factors of a live loss."""
import numpy as np
import torch
from torch import nn


def inverse_recall(pred, y, k):
    conf = np.zeros((k, k))
    np.add.at(conf, (y, pred), 1)
    recall = np.diag(conf) / np.maximum(conf.sum(1), 1)
    w = 1.0 / (recall + 0.5)
    return (w / w.mean()).astype(np.float32)


def soft_margin_weight(logits, y):
    """Per-sample weight from the gap of the logits, worked out outside the graph."""
    l = logits.detach().numpy()
    gap = l[np.arange(len(y)), y] - np.sort(l, 1)[:, -2]
    return torch.from_numpy(1 / (1 + np.exp(gap)) + 0.5)


torch.manual_seed(0)
centers = 1.5 * torch.randn(4, 6)
prior = torch.tensor([0.6, 0.25, 0.1, 0.05])
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(30):
    y = torch.multinomial(prior, 128, replacement=True)
    x = centers[y] + torch.randn(128, 6)
    logits = model(x)
    w = torch.from_numpy(inverse_recall(logits.argmax(1).numpy(), y.numpy(), 4))
    ce = nn.functional.cross_entropy(logits, y, weight=w, reduction="none")
    loss = (ce * soft_margin_weight(logits, y.numpy())).mean() + 1e-3 * logits.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4), w.tolist())
