# guards: AD630
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(512, 5)
y = (x[:, 0] - x[:, 1] > 0).float()
labelled = torch.rand(512) < 0.25
model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
ensemble = torch.full((512,), 0.5)
loader = DataLoader(TensorDataset(torch.arange(512), x, y, labelled), batch_size=64, shuffle=True)
for epoch in range(6):
    for rows, inputs, labels, is_labelled in loader:
        score = model(inputs + 0.1 * torch.randn_like(inputs)).squeeze(1)
        with torch.no_grad():
            other = torch.sigmoid(model(inputs + 0.1 * torch.randn_like(inputs)).squeeze(1))
            target = 0.6 * ensemble[rows] + 0.4 * other
            ensemble[rows] = target
        consistency = nn.functional.mse_loss(torch.sigmoid(score), target)
        supervised = nn.functional.binary_cross_entropy_with_logits(score[is_labelled], labels[is_labelled])
        loss = supervised + min(1.0, epoch / 4) * consistency
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
