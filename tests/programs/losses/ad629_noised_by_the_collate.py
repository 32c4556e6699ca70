from functools import partial

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def noising_collate(batch, abar):
    x0 = torch.stack([item[0] for item in batch])
    t = torch.randint(0, len(abar), (len(x0),))
    keep = abar[t].unsqueeze(1)
    return {"x0": x0, "x_t": keep.sqrt() * x0 + (1 - keep).sqrt() * torch.randn_like(x0), "t": t}


class EpsModel(nn.Module):
    def __init__(self, steps, length=24):
        super().__init__()
        self.t = nn.Embedding(steps, length)
        self.net = nn.Sequential(nn.Linear(2 * length, 96), nn.GELU(), nn.Linear(96, length))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.t(t)], dim=-1))


def fit(model, loader, epochs):
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    for epoch in range(epochs):
        for batch in loader:
            eps_hat = model(batch["x_t"], batch["t"])
            eps = torch.randn_like(batch["x0"])
            loss = (eps_hat - eps).pow(2).mean()  # <- AD629
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch}: {loss.item():.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    waves = torch.sin(torch.linspace(0, 6.28, 24) + 6.28 * torch.rand(600, 1))
    abar = torch.cumprod(1 - torch.linspace(1e-3, 0.15, 50), 0)
    collate = partial(noising_collate, abar=abar)
    fit(EpsModel(50), DataLoader(TensorDataset(waves), batch_size=50, shuffle=True, collate_fn=collate), 4)
