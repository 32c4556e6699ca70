import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

rng = np.random.default_rng(0)
N = 1200
area = rng.normal(120, 35, N).clip(30, 300)
rooms = np.round(area / 28 + rng.normal(0, 0.7, N)).clip(1, 9)
age = rng.uniform(0, 80, N)
dist = rng.exponential(6, N)
price = 2100 * area + 9000 * rooms - 700 * age - 3500 * dist + rng.normal(0, 15000, N) + 40000
table = np.stack([area, rooms, age, dist], 1).astype(np.float32)


class HousingDataset(Dataset):
    def __init__(self, X, y):
        self.X = (X - X.mean(0)) / X.std(0)
        self.y = y.astype(np.float32)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, i):
        return torch.from_numpy(self.X[i]), torch.tensor([self.y[i]])


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 64)
        self.fc2 = nn.Linear(64, 32)
        self.fc3 = nn.Linear(32, 1)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = self.dropout(x)
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


torch.manual_seed(0)
train_dl = DataLoader(HousingDataset(table[:1000], price[:1000]), batch_size=64, shuffle=True)
val_dl = DataLoader(HousingDataset(table[1000:], price[1000:]), batch_size=200)
model = Regressor()
loss_fn = nn.MSELoss()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    model.train()
    for xb, yb in train_dl:
        loss = loss_fn(model(xb), yb)  # <- AD718
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        val = sum(loss_fn(model(xb), yb).item() for xb, yb in val_dl)
    print(f"Epoch {epoch + 1}: train RMSE {loss.item() ** 0.5:,.0f}, val RMSE {val ** 0.5:,.0f}")
