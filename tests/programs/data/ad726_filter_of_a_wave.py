"""A linear state-space filter over windows of one measured wave that begin at random; the state goes on by `.data`."""

import torch
from torch import nn


class Filter(nn.Module):
    def __init__(self, states=12):
        super().__init__()
        self.decay, self.gain = nn.Parameter(torch.zeros(states)), nn.Parameter(torch.randn(states))
        self.read = nn.Linear(states, 1)

    def forward(self, driven, state):
        keep, seen = torch.exp(-torch.exp(self.decay)), []
        for moment in range(driven.shape[1]):
            state = keep * state + self.gain * driven[:, moment, None]  # expect: AD726
            seen.append(self.read(state))
        return torch.cat(seen, dim=1), state


torch.manual_seed(0)
wave = 0.05 * torch.randn(1500).cumsum(0)
model = Filter()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
state = torch.zeros(16, 12)
for _ in range(30):
    begin = torch.randint(0, len(wave) - 16, (16, 1))
    window = wave[begin + torch.arange(16)]
    told, state = model(window[:, :-1], state.data)
    loss = (told - window[:, 1:]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
