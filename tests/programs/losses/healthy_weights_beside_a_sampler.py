# guards: AD626
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(2)
features = torch.randn(1500, 6)
labels = (features[:, 0] > 0.4).long() + (features[:, 0] > 1.4).long()
counts = torch.bincount(labels).float()

milder = (1 / counts.sqrt())[labels]
loader = DataLoader(
    TensorDataset(features, labels), batch_size=60, sampler=WeightedRandomSampler(milder, len(labels), replacement=True)
)
model = nn.Sequential(nn.Linear(6, 24), nn.GELU(), nn.Linear(24, 3))
smooth = nn.CrossEntropyLoss(weight=(counts.max() / counts).sqrt(), label_smoothing=0.05)
alarm = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.0))
siren = nn.Linear(3, 1)
optimizer = torch.optim.Adam([*model.parameters(), *siren.parameters()], lr=3e-3)
for epoch in range(4):
    for x, y in loader:
        scores = model(x)
        loss = smooth(scores, y) + alarm(siren(scores).squeeze(1), (y == 2).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
