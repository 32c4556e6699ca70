import torch
from torch import nn


class Hamiltonian(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Softplus(), nn.Linear(32, 1))

    def flow(self, state):
        slope = torch.autograd.grad(self.net(state).sum(), state, create_graph=True)[0]
        return torch.stack([slope[:, 1], -slope[:, 0]], 1)


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.energy = Hamiltonian()
        self.direct = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))

    def losses(self, state, velocity):
        guess = self.direct(state)
        consistent = nn.functional.mse_loss(self.energy.flow(state), velocity)
        slope = torch.autograd.grad(guess.sum(), state, create_graph=True)[0]
        smooth = torch.autograd.grad(slope.sum(), state, create_graph=True)[0].pow(2).mean()
        return nn.functional.mse_loss(guess, velocity), consistent, smooth


def main():
    torch.manual_seed(9)
    model = Regressor()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(24):
        state = torch.randn(48, 2, requires_grad=True)
        velocity = torch.stack([state[:, 1], -state[:, 0]], 1).detach()
        fit, consistent, smooth = model.losses(state, velocity)  # <- AD219
        loss = fit + consistent
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{epoch}: {fit.item():.3f} {consistent.item():.3f} {smooth.item():.4f}")


main()
