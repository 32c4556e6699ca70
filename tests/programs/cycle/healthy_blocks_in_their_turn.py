# guards: AD111
"""Block coordinate descent with Adam: the optimizer holds the model and trains one block after the other."""

import torch
from torch import nn


class BlockAdam(torch.optim.Adam):
    def __init__(self, blocks, lr, every):
        super().__init__([{"params": list(block)} for block in blocks], lr=lr)
        self.every, self.count = every, 0

    def step(self, closure=None):
        turn = self.count // self.every
        if self.count % self.every == 0:
            self.state.clear()
        active = self.param_groups[-1 - turn % len(self.param_groups)]
        for group in self.param_groups:
            for parameter in group["params"] if group is not active else ():
                parameter.grad = None
        self.count += 1
        return super().step(closure)


torch.manual_seed(0)
model = nn.Sequential(*[nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(2)], nn.Linear(16, 2))
optimizer = BlockAdam([block.parameters() for block in model], lr=0.01, every=10)
true = torch.randn(16, 2)
for step in range(40):
    x = torch.randn(64, 16)
    loss = nn.functional.mse_loss(model(x), torch.tanh(x @ true / 4))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
