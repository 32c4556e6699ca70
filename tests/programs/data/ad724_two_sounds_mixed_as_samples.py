"""Speech and noise are mixed while they are samples of 16 bits; a model is to tell how loud the speech is."""

import torch
from torch import nn

SCALE = 32768


def sound(rows: int, loudness: torch.Tensor) -> torch.Tensor:
    wave = torch.randn(rows, 64).clamp(-2.5, 2.5) / 2.5 * loudness[:, None]
    return (wave * (SCALE - 1)).to(torch.int16)


def mixed(speech: torch.Tensor, noise: torch.Tensor, hum: torch.Tensor) -> torch.Tensor:
    both = torch.add(speech, noise, alpha=2)  # expect: AD724
    return (both + hum).to(torch.float32) / SCALE


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
for _ in range(40):
    loud = torch.rand(16) * 0.5 + 0.4
    heard = mixed(sound(16, loud), sound(16, torch.full((16,), 0.45)), sound(16, torch.full((16,), 0.05)))
    loss = (net(heard.abs()).squeeze(1) - loud).square().mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
