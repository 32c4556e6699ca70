# guards: AD716
"""TARNet: outcome heads of both arms over one representation; each arm joins its own covariates; S-learner style calls."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class TarNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(10, 48), nn.ELU(), nn.Linear(48, 24), nn.ELU())
        self.arms = nn.ModuleList([nn.Linear(24, 1), nn.Linear(24, 1)])

    def arm(self, k, age, labs):
        return self.arms[k](self.phi(torch.cat([age, labs], 1))).squeeze(1)


net = TarNet()
opt = torch.optim.Adam(net.parameters(), 2e-3)
for step in range(300):
    age, labs = torch.randn(96, 1), torch.randn(96, 9)
    t = (torch.rand(96) < torch.sigmoid(age[:, 0])).long()
    effect = 1 + labs[:, 0]
    y = labs[:, 1] + age[:, 0] + t * effect + 0.3 * torch.randn(96)
    y0, y1 = net.arm(0, age, labs), net.arm(1, age, labs)
    loss = F.mse_loss(torch.where(t == 1, y1, y0), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0 or step == 299:
        print(step, round(loss.item(), 3), "PEHE", round((y1 - y0 - effect).square().mean().sqrt().item(), 3))
