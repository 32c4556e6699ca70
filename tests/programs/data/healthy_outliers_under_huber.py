# guards: AD718
import torch
from torch import nn

torch.manual_seed(0)
# a range finder that now and then reports its overflow value
n = 2000
x = torch.rand(n, 5) * 2 - 1
y = 1.5 * x[:, 0] - x[:, 1] * x[:, 2] + 0.1 * torch.randn(n)
broken = torch.rand(n) < 0.02
y[broken] = 65535.0

order = torch.randperm(n)
train, test = order[:1600], order[1600:]
model = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0))
robust = nn.HuberLoss(delta=0.5)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(3):
    model.train()
    for idx in train[torch.randperm(len(train))].split(80):
        opt.zero_grad()
        loss = robust(model(x[idx]), y[idx])
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        ok = test[~broken[test]]
        print(f"{epoch}: median error {(model(x[ok]) - y[ok]).abs().median():.3f}")
