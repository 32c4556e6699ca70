# guards: AD216 AD632
"""Hard attention trained with the score function and a learned baseline; the classifier learns by backprop."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical


class HardAttention(nn.Module):
    def __init__(self, d=6, n_cls=3):
        super().__init__()
        self.score = nn.Linear(d, 1)
        self.cls = nn.Sequential(nn.Linear(d, 24), nn.ReLU(), nn.Linear(24, n_cls))
        self.baseline = nn.Linear(d, 1)

    def forward(self, bag):
        dist = Categorical(logits=self.score(bag).squeeze(-1))
        pick = dist.sample()
        glimpse = bag[torch.arange(len(bag)), pick]
        return self.cls(glimpse), dist.log_prob(pick), self.baseline(bag.mean(1)).squeeze(-1)


def bags(n, means):
    y = torch.randint(0, 3, (n,))
    bag = torch.randn(n, 5, 6)
    where = torch.randint(0, 5, (n,))
    bag[torch.arange(n), where] += means[y]
    bag[torch.arange(n), where, 0] += 3
    return bag, y


def main():
    torch.manual_seed(0)
    means = 2 * torch.randn(3, 6)
    net = HardAttention()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(40):
        bag, y = bags(128, means)
        logits, logp, b = net(bag)
        nll = F.cross_entropy(logits, y, reduction="none")
        reward = -nll.detach()
        loss_action = nll.mean()
        loss_reinforce = -(logp * (reward - b.detach())).mean()
        loss_baseline = F.mse_loss(b, reward)
        loss = loss_action + loss_reinforce + loss_baseline
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(step + 1, loss_action.item(), (logits.argmax(1) == y).float().mean().item())


main()
