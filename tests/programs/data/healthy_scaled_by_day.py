# guards: AD720
"""Cross-sectional equity model: the factors of each day are standardised over the stocks of that day
(all known at that day's close), in training as in testing. Batches are drawn over days."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
DAYS, STOCKS, FACTORS = 60, 50, 5
drift = torch.randn(DAYS, 1, FACTORS).cumsum(0)
raw = drift + (0.5 + torch.rand(DAYS, 1, FACTORS)) * torch.randn(DAYS, STOCKS, FACTORS)
z = (raw - raw.mean(1, keepdim=True)) / raw.std(1, unbiased=False, keepdim=True)
returns = z @ torch.tensor([0.6, -0.4, 0.2, 0.0, 0.3]) + 0.5 * torch.randn(DAYS, STOCKS)

train = TensorDataset(z[:48].flatten(0, 1), returns[:48].flatten())
test = TensorDataset(z[48:].flatten(0, 1), returns[48:].flatten())
train_loader = DataLoader(train, 64, shuffle=True)
test_loader = DataLoader(test, 64)
model = nn.Sequential(nn.Linear(FACTORS, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(8):
    model.train()
    for x, y in train_loader:
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        errors = [nn.functional.mse_loss(model(x).squeeze(1), y).item() for x, y in test_loader]
    print(epoch, round(loss.item(), 3), round(sum(errors) / len(errors), 3))
