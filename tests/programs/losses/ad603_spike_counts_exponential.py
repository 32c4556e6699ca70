import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)


class Encoder(nn.Module):
    """Receptive fields of neurons, with an exponential nonlinearity."""

    def __init__(self, pixels, neurons):
        super().__init__()
        self.core = nn.Linear(pixels, 24)
        self.readout = nn.Linear(24, neurons)

    def forward(self, frames):
        drive = self.readout(torch.tanh(self.core(frames)))
        return torch.exp(drive)


frames = torch.randn(400, 30)
fields = 0.1 * torch.randn(30, 6)
spikes = torch.poisson((frames @ fields).exp() * 0.5)
net = Encoder(30, 6)
opt = torch.optim.Adam(net.parameters(), 3e-3)
for epoch in range(3):
    for idx in torch.randperm(400).split(40):
        rate = net(frames[idx])
        loss = F.poisson_nll_loss(rate, spikes[idx], full=True)  # expect: AD603
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
