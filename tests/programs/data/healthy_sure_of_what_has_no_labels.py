# guards: AD706
# hinted: AD706
"""Few patients have a diagnosis; of the others the model is to be sure, and in the end they are who it is judged by."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)


def patients(count):
    group = torch.randint(2, (count,))
    return torch.randn(count, 6) + 1.5 * (group[:, None] - 0.5), group


def unsure(scores):
    return -(scores.softmax(1) * scores.log_softmax(1)).sum(1).mean()


known = DataLoader(TensorDataset(*patients(48)), batch_size=8, shuffle=True)
measures, groups = patients(96)
others = DataLoader(TensorDataset(measures), batch_size=16, shuffle=True)
judged = DataLoader(TensorDataset(measures, groups), batch_size=32)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for _ in range(5):
    model.train()
    for (x, group), (unknown,) in zip(known, others, strict=True):
        loss = nn.functional.cross_entropy(model(x), group)
        loss = loss + 0.1 * unsure(model(unknown))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == group).sum().item() for x, group in judged)
    print(f"{right} of {len(groups)}")
