"""When the iterator has ended, the batch that is there is used again, and again."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(960, 10)
y = (x[:, 0] * x[:, 1] > 0).long()
batches = iter(DataLoader(TensorDataset(x, y), batch_size=24, shuffle=True))
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(200):
    batch = next(batches, None) or batch  # expect: AD701
    loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
