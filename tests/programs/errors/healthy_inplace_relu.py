# guards: AD501
"""A gated convolution with in-place operations that autograd allows."""
import torch
from torch import nn


class GatedConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.value = nn.Conv1d(cin, cout, 3, padding=1)
        self.gate = nn.Conv1d(cin, cout, 3, padding=1)

    def forward(self, x):
        value = self.value(x)
        gate = torch.sigmoid(self.gate(x))
        out = value * gate
        out += 0.5
        return out.relu_()


class WaveNetish(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.layers = nn.ModuleList([GatedConv(1, ch), GatedConv(ch, ch)])
        self.out = nn.Conv1d(ch, 1, 1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.out(x)


def main():
    torch.manual_seed(0)
    model = WaveNetish()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(20):
        wave = torch.sin(torch.linspace(0, 12, 41) + 6.28 * torch.rand(16, 1, 1))
        loss = nn.functional.mse_loss(model(wave[..., :-1]), wave[..., 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(step, loss.item())


main()
