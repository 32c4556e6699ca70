"""Deep autoencoder on correlated measurements."""

import torch
from torch import nn


def init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, mean=0.0, std=0.02)
        nn.init.zeros_(m.bias)


class AutoEncoder(nn.Module):
    def __init__(self, d=24, w=32, depth=5):
        super().__init__()
        self.enc = nn.ModuleList([nn.Linear(d, w)] + [nn.Linear(w, w) for _ in range(depth)])
        self.dec = nn.ModuleList([nn.Linear(w, w) for _ in range(depth)])
        self.out = nn.Linear(w, d)

    def forward(self, x):
        for layer in list(self.enc) + list(self.dec):
            x = torch.tanh(layer(x))  # expect: AD407
        return self.out(x)


def main(seed=46):
    torch.manual_seed(seed)
    factors = torch.randn(3, 24)
    model = AutoEncoder().apply(init)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(250):
        x = torch.tanh(torch.randn(64, 3) @ factors)
        loss = nn.functional.mse_loss(model(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 25 == 0:
            print(f"{step:4d} reconstruction {loss.item():.5f}  baseline {x.var().item():.5f}")


if __name__ == "__main__":
    main()
