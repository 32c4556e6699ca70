"""A small vocoder as it is often written: weight norm first, then `apply` with an initialisation of the weights."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


def init_weights(m, mean=0.0, std=0.01):
    if m.__class__.__name__.find("Conv") != -1:
        m.weight.data.normal_(mean, std)  # expect: AD514


class Block(nn.Module):
    def __init__(self, channels, dilations=(1, 3)):
        super().__init__()
        self.convs = nn.ModuleList(
            weight_norm(nn.Conv1d(channels, channels, 3, dilation=d, padding=d)) for d in dilations
        )
        self.convs.apply(init_weights)

    def forward(self, x):
        for conv in self.convs:
            x = x + conv(F.leaky_relu(x, 0.1))
        return x


class Vocoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.pre = weight_norm(nn.Conv1d(8, 16, 7, padding=3))
        self.blocks = nn.Sequential(Block(16), Block(16))
        self.post = nn.Conv1d(16, 1, 7, padding=3)

    def forward(self, mel):
        return torch.tanh(self.post(F.leaky_relu(self.blocks(self.pre(mel)))))


def run():
    torch.manual_seed(1)
    net = Vocoder()
    optim = torch.optim.AdamW(net.parameters(), 2e-3, betas=(0.8, 0.99))
    for _ in range(30):
        mel = torch.randn(4, 8, 32)
        wave = torch.tanh(mel.mean(1, keepdim=True))
        loss = F.l1_loss(net(mel), wave)
        optim.zero_grad()
        loss.backward()
        optim.step()


run()
