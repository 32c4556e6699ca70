# guards: AD416
# hinted: AD416
"""Near-lossless coder for four-tone scans: autoencoder with a straight-through 1-bit code."""

import torch
from torch import nn


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad):
        return grad


class Coder(nn.Module):
    def __init__(self, bits=32):
        super().__init__()
        self.encode = nn.Sequential(nn.Flatten(), nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, bits), nn.Tanh())
        self.decode = nn.Sequential(nn.Linear(bits, 96), nn.ReLU(), nn.Linear(96, 64), nn.Unflatten(1, (8, 8)))

    def forward(self, x):
        return self.decode(Sign.apply(self.encode(x)))


def pages(n):
    page = torch.zeros(n, 8, 8)
    for k in range(n):
        for _ in range(int(torch.randint(0, 3, (1,)))):
            r = int(torch.randint(0, 8, (1,)))
            tone = int(torch.randint(1, 4, (1,))) / 3
            if torch.rand(1) < 0.5:
                page[k, r, :] = tone
            else:
                page[k, :, r] = tone
    return page


def psnr(a, b):
    mse = (a - b).square().flatten(1).mean(1)
    return -10 * torch.log10(mse)


def show(db):
    return "lossless" if db == float("inf") else f"{db:.1f} dB"


def evaluate(model, x):
    model.eval()
    with torch.inference_mode():
        tones = (model(x).clamp(0, 1) * 3).round() / 3
        quality = psnr(tones, x.mul(3).round() / 3)
    return quality


def main():
    torch.manual_seed(17)
    train, test = pages(600), pages(200)
    model = Coder()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(12):
        model.train()
        for rows in torch.randperm(len(train)).split(50):
            loss = nn.functional.mse_loss(model(train[rows]), train[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
        if epoch % 6 == 5:
            q = evaluate(model, test)
            share = q.isinf().float().mean().item()
            worst, median, best = q.min().item(), q.median().item(), q.max().item()
            print(
                f"epoch {epoch + 1}: loss {loss.item():.4f} worst {show(worst)}, median {show(median)}, "
                f"best {show(best)}; {share:.0%} lossless"
            )
    blank = evaluate(model, torch.zeros(1, 8, 8)).item()
    print("blank page:", show(blank))


main()
