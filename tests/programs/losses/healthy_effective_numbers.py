# guards: AD626
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def class_balanced_weights(samples_per_cls, beta):
    effective_num = 1.0 - np.power(beta, samples_per_cls)
    weights = (1.0 - beta) / np.array(effective_num)
    weights = weights / np.sum(weights) * len(samples_per_cls)
    return torch.tensor(weights).float()


class CBFocal(nn.Module):
    def __init__(self, weights, gamma=1.0):
        super().__init__()
        self.register_buffer("weights", weights)
        self.gamma = gamma

    def forward(self, logits, labels):
        ce = F.cross_entropy(logits, labels, weight=self.weights, reduction="none")
        p = logits.softmax(1).gather(1, labels[:, None]).squeeze(1)
        return ((1 - p) ** self.gamma * ce).sum() / self.weights[labels].sum()


torch.manual_seed(0)
samples_per_cls = [1500, 600, 240, 96]
y = torch.cat([torch.full((n,), k) for k, n in enumerate(samples_per_cls)])
x = torch.randn(4, 8)[y] + torch.randn(len(y), 8)
loader = DataLoader(TensorDataset(x, y), batch_size=80, shuffle=True)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=2e-4)
for epoch in range(3):
    # deferred re-weighting (LDAM-DRW)
    beta = 0.0 if epoch == 0 else 0.9999
    criterion = CBFocal(class_balanced_weights(samples_per_cls, beta))
    for xb, yb in loader:
        loss = criterion(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, beta, loss.item())
