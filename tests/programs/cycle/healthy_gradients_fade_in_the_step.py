# guards: AD101
import torch
from torch import nn


class Fading(torch.optim.Optimizer):
    """Descent with momentum and no buffer for it: a part of each gradient stays, and the next one is added to it."""

    def __init__(self, parameters, lr, keep):
        super().__init__(parameters, {"lr": lr, "keep": keep})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.sub_(parameter.grad, alpha=group["lr"])
                parameter.grad.div_(1 / group["keep"])


torch.manual_seed(0)
rings = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
ages = nn.Linear(3, 1)
fading = Fading(rings.parameters(), lr=0.02, keep=0.7)
plain = torch.optim.SGD(ages.parameters(), lr=0.02)
plain.register_step_post_hook(lambda *_: [each.grad.data.mul_(0.7) for each in ages.parameters()])
for _ in range(20):
    trunk = torch.randn(16, 3)
    nn.functional.mse_loss(rings(trunk), trunk.prod(1, keepdim=True)).backward()
    fading.step()
    nn.functional.mse_loss(ages(trunk), trunk.sum(1, keepdim=True)).backward()
    plain.step()
