# guards: AD216
"""Self-paced learning: the easy samples are picked by the detached per-sample losses, the mean is taken over those alone."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(480, 6)
y = (x.sum(1) > 0).long()
flip = torch.rand(480) < 0.15
y[flip] = 1 - y[flip]

model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, nesterov=True)
criterion = nn.CrossEntropyLoss(reduction="none")
for epoch in range(5):
    keep = min(0.85, 0.6 + 0.06 * epoch)
    for xb, yb in DataLoader(TensorDataset(x, y), batch_size=80, shuffle=True):
        per_sample = criterion(model(xb), yb)
        with torch.no_grad():
            threshold = per_sample.quantile(keep)
            mask = (per_sample <= threshold).float()
        loss = (mask * per_sample).sum() / mask.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, f"keep {keep:.1f}", f"loss {loss.item():.4f}", f"hardest {per_sample.max().item():.3f}")
