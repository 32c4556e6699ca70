# guards: AD202 AD224
"""BYOL: an online network, a target network that follows it, and a stop-gradient on the target branch only."""
import copy

import torch
import torch.nn.functional as F
from torch import nn


def encoder():
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))


class BYOL(nn.Module):
    def __init__(self, tau=0.95):
        super().__init__()
        self.online = encoder()
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False
        self.predictor = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
        self.tau = tau

    @torch.no_grad()
    def update_target(self):
        for online, target in zip(self.online.parameters(), self.target.parameters()):
            target.lerp_(online, 1 - self.tau)

    def loss(self, view1, view2):
        p1 = self.predictor(self.online(view1))
        t2 = self.target(view2).detach()
        return 2 - 2 * F.cosine_similarity(p1, t2, dim=1).mean()


def main():
    torch.manual_seed(0)
    byol = BYOL()
    optimizer = torch.optim.Adam([*byol.online.parameters(), *byol.predictor.parameters()], lr=3e-3)
    prototypes = torch.randn(10, 16)
    for step in range(30):
        x = prototypes[torch.randint(0, 10, (64,))]
        view1, view2 = x + 0.3 * torch.randn_like(x), x + 0.3 * torch.randn_like(x)
        loss = byol.loss(view1, view2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        byol.update_target()
        if step % 10 == 0:
            print(step, loss.item())


main()
