# guards: AD416
# hinted: AD416
"""Causal convolutional forecaster with a self-check of its receptive field."""

import torch
from torch import Tensor, nn


class CausalConv(nn.Module):
    def __init__(self, cin: int, cout: int, kernel: int, dilation: int):
        super().__init__()
        self.lags = [dilation * k for k in range(kernel)]
        self.mix = nn.ModuleList(nn.Linear(cin, cout, bias=k == 0) for k in range(kernel))

    def forward(self, x: Tensor) -> Tensor:
        total = self.mix[0](x)
        for lag, mix in zip(self.lags[1:], self.mix[1:]):
            total = total + mix(nn.functional.pad(x, (0, 0, lag, 0))[:, : x.shape[1]])
        return total


class Forecaster(nn.Module):
    def __init__(self, width: int = 24, dilations=(1, 2, 4)):
        super().__init__()
        sizes = [1] + [width] * len(dilations)
        self.convs = nn.ModuleList(CausalConv(a, b, 2, d) for a, b, d in zip(sizes, sizes[1:], dilations))
        self.head = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        for conv in self.convs:
            x = torch.tanh(conv(x))
        return self.head(x)


def reach(model: nn.Module, length: int, at: int) -> tuple[int, int]:
    """Poison one time step and see which outputs it touches."""
    touched = {}
    hooks = [
        m.register_forward_hook(lambda mod, i, o, name=n: touched.__setitem__(name, int(o.isnan().any(-1).sum())))
        for n, m in model.named_modules()
        if isinstance(m, CausalConv)
    ]
    x = torch.zeros(1, length, 1)
    x[0, at] = float("nan")
    with torch.no_grad():
        y = model(x)[0, :, 0]
    for hook in hooks:
        hook.remove()
    hit = y.isnan().nonzero().flatten()
    print("  outputs touched per layer:", touched)
    print(f"  y[{at - 1}] = {y[at - 1].item():.3f}, y[{at}] = {y[at].item()}, y[{at + 8}] = {y[at + 8].item():.3f}")
    return int(hit.min()), int(hit.max())


def batch(n: int, length: int = 48) -> tuple[Tensor, Tensor]:
    t = torch.arange(length + 1.0) / 6
    phase, speed = torch.rand(n, 1) * 6.3, 0.5 + torch.rand(n, 1)
    wave = torch.sin(phase + speed * t) + 0.05 * torch.randn(n, length + 1)
    return wave[:, :-1, None], wave[:, 1:, None]


torch.manual_seed(0)
model = Forecaster()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
x_val, y_val = batch(64)
for step in range(24):
    x, y = batch(32)
    loss = (model(x) - y).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 7:
        with torch.no_grad():
            print(step + 1, f"train {loss.item():.4f} val {(model(x_val) - y_val).square().mean().item():.4f}")
first, last = reach(model, 48, at=20)
assert first == 20 and last == 20 + 1 + 2 + 4, (first, last)
print(f"causal, receptive field {last - first + 1}")
