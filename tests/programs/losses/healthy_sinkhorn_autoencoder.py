# guards: AD628 AD629
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def sinkhorn_distance(a, b, eps=0.5, iterations=10):
    cost = torch.cdist(a, b) ** 2
    log_k = -cost / eps
    u = torch.zeros(len(a))
    for _ in range(iterations):
        v = -torch.logsumexp(log_k + u[:, None], dim=0)
        u = -torch.logsumexp(log_k + v[None, :], dim=1)
    plan = (log_k + u[:, None] + v[None, :]).exp() / len(a)
    return (plan * cost).sum()


class Autoencoder(nn.Module):
    def __init__(self, d=16, z=3):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(d, 32), nn.SiLU(), nn.Linear(32, z))
        self.decode = nn.Sequential(nn.Linear(z, 32), nn.SiLU(), nn.Linear(32, d))

    def forward(self, x):
        z = self.encode(x)
        return z, self.decode(z)


if __name__ == "__main__":
    torch.manual_seed(0)
    data = torch.tanh(torch.randn(800, 3) @ torch.randn(3, 16))
    model = Autoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(3):
        for (x,) in DataLoader(TensorDataset(data), batch_size=50, shuffle=True):
            z, rebuilt = model(x)
            loss = F.mse_loss(rebuilt, x) + sinkhorn_distance(z, torch.randn_like(z))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())
