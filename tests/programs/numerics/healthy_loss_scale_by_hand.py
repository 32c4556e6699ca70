# guards: AD404 AD107
import torch
import torch.nn as nn


class HalvingScale:
    def __init__(self, start):
        self.scale = start

    def backward_and_step(self, loss, optimizer):
        optimizer.zero_grad()
        (loss * self.scale).backward()
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"]]
        if not all(g.isfinite().all() for g in gradients):
            self.scale /= 4
            return False
        torch._foreach_div_(gradients, self.scale)
        optimizer.step()
        return True


torch.manual_seed(7)
prototypes = torch.randn(5, 24)
net = nn.Sequential(nn.Linear(24, 64), nn.Tanh(), nn.Linear(64, 5))
optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
scaler = HalvingScale(2.0**30)
missed = 0
for step in range(80):
    label = torch.randint(0, 5, (64,))
    image = prototypes[label] + 0.5 * torch.randn(64, 24)
    with torch.autocast("cpu", dtype=torch.float16):
        score = net(image)
    missed += not scaler.backward_and_step(nn.functional.cross_entropy(score.float(), label), optimizer)
print("skipped", missed, "scale", scaler.scale)
