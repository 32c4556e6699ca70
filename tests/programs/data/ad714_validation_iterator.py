import torch
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(1)
points = torch.rand(160, 2) * 4 - 2
labels = (points.pow(2).sum(1, keepdim=True) < 2).float()
train_set, valid_set = random_split(TensorDataset(points, labels), [128, 32])
train_loader = DataLoader(train_set, 16, shuffle=True)
valid_batches = iter(DataLoader(valid_set, 16))

net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
criterion = torch.nn.BCEWithLogitsLoss()
best = float("inf")
for epoch in range(5):
    net.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()

    net.eval()
    valid_loss = 0.0
    with torch.no_grad():
        for x, y in valid_batches:  # <- AD714
            valid_loss += criterion(net(x), y).item()
    if valid_loss < best:
        best = valid_loss
        print("epoch", epoch, "new best", best)
