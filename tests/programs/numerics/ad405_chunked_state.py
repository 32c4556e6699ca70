"""Next value of a signal from a recurrent layer whose state goes on from chunk to chunk."""

import torch
from torch import nn

torch.manual_seed(51)


class Chunked(nn.Module):
    def __init__(self):
        super().__init__()
        self.inward = nn.Linear(2, 24)
        self.around = nn.Linear(24, 24, bias=False)
        self.readout = nn.Linear(24, 1)
        nn.init.orthogonal_(self.around.weight, gain=1.3)

    def forward(self, chunk, state):
        seen = []
        for moment in chunk.unbind(1):
            state = self.inward(moment) + self.around(state)  # expect: AD405
            seen.append(self.readout(state))
        return torch.stack(seen, 1), state.detach()


net = Chunked()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
signal = torch.randn(16, 240, 2)
state = torch.zeros(16, 24)
for start in range(0, 236, 4):
    chunk = signal[:, start : start + 4]
    guess, state = net(chunk, state)
    loss = nn.functional.mse_loss(guess, chunk.sum(2, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
