# guards: AD216
"""Policy gradient with a surrogate from the DiCE magic box: its value is the mean advantage, its gradient the score function's."""
import torch
from torch import nn
from torch.distributions import Categorical


def magic_box(x):
    return torch.exp(x - x.detach())


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 4))

    def forward(self, s):
        return Categorical(logits=self.net(s))


def main():
    torch.manual_seed(0)
    policy, value = Policy(), nn.Linear(6, 1)
    opt = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=1e-2)
    M = torch.randn(6, 4)
    for it in range(40):
        s = torch.randn(128, 6)
        dist = policy(s)
        a = dist.sample()
        costs = (s @ M).softmax(-1).gather(1, a[:, None]).squeeze(1)
        v = value(s).squeeze(1)
        objective = (magic_box(dist.log_prob(a)) * (costs - v.detach())).mean()
        value_loss = (v - costs).pow(2).mean()
        loss = objective + value_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 10 == 9:
            print(f"iter {it + 1}: cost {costs.mean().item():.4f}")


main()
