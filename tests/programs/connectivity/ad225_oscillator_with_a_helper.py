import torch
import torch.nn as nn
import torch.nn.functional as F


def nth_derivative(y, x, n):
    for _ in range(n):
        (y,) = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)
    return y


class ResBlock(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.a, self.b = nn.Linear(w, w), nn.Linear(w, w)

    def forward(self, x):
        return x + self.b(F.relu(self.a(x)))


class Displacement(nn.Module):
    def __init__(self, w=32):
        super().__init__()
        self.lift = nn.Linear(1, w)
        self.blocks = nn.Sequential(ResBlock(w), ResBlock(w))
        self.drop = nn.Linear(w, 1)

    def forward(self, t):
        return self.drop(self.blocks(self.lift(t)))


def physics(model, m=1.0, mu=0.4, k=4.0):
    t = torch.linspace(0, 2, 100).view(-1, 1).requires_grad_(True)
    x = model(t)
    return (m * nth_derivative(x, t, 2) + mu * nth_derivative(x, t, 1) + k * x).pow(2).mean()  # <- AD225


if __name__ == "__main__":
    torch.manual_seed(123)
    t_data = torch.linspace(0, 0.7, 12).view(-1, 1)
    x_data = torch.exp(-0.2 * t_data) * torch.cos(1.99 * t_data)
    pinn = Displacement()
    optimiser = torch.optim.Adam(pinn.parameters(), lr=1e-3)
    for i in range(50):
        optimiser.zero_grad()
        loss = F.mse_loss(pinn(t_data), x_data) + 1e-2 * physics(pinn)
        loss.backward()
        optimiser.step()
        if i % 10 == 0:
            print(i, loss.item())
