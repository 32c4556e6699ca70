# guards: AD110
"""How far does a recurrent model come with its weights as they were drawn? Then with rates that grow tenfold."""

import torch
from torch import nn


class Trial:
    def __init__(self, exponent):
        torch.manual_seed(4)
        self.net = nn.GRU(2, 12, batch_first=True)
        self.read = nn.Linear(12, 1)
        rate = 0.0 if exponent is None else 10.0**exponent
        self.optimizer = torch.optim.SGD([*self.net.parameters(), *self.read.parameters()], lr=rate, momentum=0.9)

    def run(self, steps):
        for _ in range(steps):
            waves = torch.randn(8, 10, 2).cumsum(1)
            states, _ = self.net(waves)
            loss = nn.functional.l1_loss(self.read(states[:, -1]), waves.mean((1, 2)).unsqueeze(1))
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
        return float(loss.detach())


exponent = None
while exponent is None or exponent < -1:
    print(exponent, Trial(exponent).run(36))
    exponent = -4 if exponent is None else exponent + 1
