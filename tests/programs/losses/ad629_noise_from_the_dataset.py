import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class NoisyWaves(Dataset):
    def __init__(self, n=96, steps=50):
        phase = torch.rand(n, 1) * 6.28
        self.waves = torch.sin(torch.linspace(0, 6.28, 24) + phase)
        self.abar = torch.cumprod(1 - torch.linspace(1e-3, 0.15, steps), 0)
        self.steps = steps

    def __len__(self):
        return len(self.waves)

    def __getitem__(self, idx):
        t = torch.randint(0, self.steps, ())
        x0 = self.waves[idx]
        x_t = self.abar[t].sqrt() * x0 + (1 - self.abar[t]).sqrt() * torch.randn(24)
        return x_t, t, x0


class EpsModel(nn.Module):
    def __init__(self, steps=50):
        super().__init__()
        self.t = nn.Embedding(steps, 24)
        self.net = nn.Sequential(nn.Linear(48, 96), nn.GELU(), nn.Linear(96, 24))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.t(t)], dim=-1))


if __name__ == "__main__":
    torch.manual_seed(0)
    model = EpsModel()
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    loader = DataLoader(NoisyWaves(), batch_size=8, shuffle=True)
    for epoch in range(3):
        for x_t, t, x0 in loader:
            eps = torch.randn_like(x0)
            loss = ((model(x_t, t) - eps) ** 2).mean()  # <- AD629
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch}: {loss.item():.3f}")
