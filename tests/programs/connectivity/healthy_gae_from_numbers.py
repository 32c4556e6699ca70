# guards: AD216 AD217
"""A2C with GAE worked out on Python numbers: the values leave as .item(), targets come back as torch.tensor, live values get the loss."""
import torch
from torch import nn
from torch.distributions import Normal

GAMMA, LAM = 0.95, 0.9


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 32)
        self.mu = nn.Linear(32, 1)
        self.v = nn.Linear(32, 1)
        self.log_std = nn.Parameter(torch.tensor(-0.5))

    def forward(self, s):
        h = torch.tanh(self.fc(s))
        return Normal(self.mu(h).squeeze(-1), self.log_std.exp()), self.v(h).squeeze(-1)


def gae(rewards, values):
    adv, out = 0.0, []
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + GAMMA * values[t + 1] - values[t]
        adv = delta + GAMMA * LAM * adv
        out.insert(0, adv)
    return out


def main():
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for update in range(25):
        s = torch.randn(2)
        states_v, logps, rewards = [], [], []
        for _ in range(16):
            dist, v = net(s)
            a = dist.sample()
            s = torch.stack([0.9 * s[0] + 0.2 * s[1], 0.6 * s[1] + 0.5 * a.clamp(-2, 2)])
            rewards.append(-((s[0] - 1).abs() + 0.1 * s[1] ** 2).item() / 4)
            states_v.append(v)
            logps.append(dist.log_prob(a))
        last = net(s)[1].item()
        values = [v.item() for v in states_v] + [last]
        adv = gae(rewards, values)
        returns = torch.tensor([a + v for a, v in zip(adv, values)])
        adv = torch.tensor(adv)
        v = torch.stack(states_v)
        loss = -(torch.stack(logps) * adv).mean() + 0.5 * (v - returns).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        if update % 8 == 0:
            print(f"update {update} return {sum(rewards):.2f} loss {loss.item():.3f}")


main()
