# guards: AD103 AD111
import torch
from torch import nn


class Chain(nn.Module):
    """Beads on springs; where they are is what is differentiated."""

    def __init__(self, beads):
        super().__init__()
        self.places = nn.Parameter(torch.randn(beads, 2, dtype=torch.float64))
        self.anchor = nn.Parameter(torch.randn(1, 2, dtype=torch.float64))

    def forward(self):
        apart = torch.cat([self.anchor, self.places]).diff(dim=0).norm(dim=1)
        return (apart - 1).square().sum() + 0.1 * self.places.square().sum() + self.anchor.square().sum()


class Push(torch.optim.Optimizer):
    """Half a step of the velocities. The force at the end of one step is that at the start of the next."""

    def __init__(self, parameters, dt):
        super().__init__(parameters, {"dt": dt})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for each in group["params"]:
                velocity = self.state[each].setdefault("velocity", torch.zeros_like(each))
                velocity -= 0.5 * group["dt"] * each.grad

    @torch.no_grad()
    def glide(self):
        for group in self.param_groups:
            for each in group["params"]:
                each += group["dt"] * self.state[each]["velocity"]


torch.manual_seed(0)
chain = Chain(5)
push = Push(chain.parameters(), dt=0.02)
energy = chain()
energy.backward()
for _ in range(20):
    push.step()
    push.glide()
    push.zero_grad()
    energy = chain()
    energy.backward()
    push.step()
print(energy.item())
