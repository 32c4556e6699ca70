# guards: AD634
"""Small learned numbers in losses: limits, shares, temperatures, penalties, prices and gains."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)


class Gain(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
        self.gain = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.gain * self.body(x)


net, critic, maker = nn.Linear(5, 24), Gain(), nn.Linear(3, 5)
heads = nn.ModuleList([nn.Linear(24, 1), nn.Linear(24, 4)])
w = nn.ParameterDict({
    "limited": nn.Parameter(torch.ones(2)),
    "held": nn.Parameter(torch.zeros(2)),
    "temperature": nn.Parameter(torch.zeros(1)),
    "price": nn.Parameter(torch.zeros(1)),
    "noise": nn.Parameter(torch.zeros(1)),
})
learns = torch.optim.Adam([*net.parameters(), *heads.parameters(), *w.parameters()], lr=3e-3)
critics = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
makers = torch.optim.RMSprop(maker.parameters(), lr=1e-3)
pays = torch.optim.SGD([w["price"]], lr=0.05)
for step in range(24):
    x = torch.randn(40, 5)
    h = net(x).tanh()
    value, scores = heads[0](h).squeeze(1), heads[1](h)
    errors = torch.stack([F.mse_loss(value, x.sum(1)), F.cross_entropy(scores, x[:, :4].argmax(1))])
    limited = (w["limited"].clamp(min=0.5) * errors).sum()
    held = (errors * torch.exp(-w["held"]) + w["held"]).sum()
    sharp = F.cross_entropy(scores * w["temperature"].exp(), x[:, :4].argmax(1))
    likelihood = ((value - x.sum(1)).square() * torch.exp(-w["noise"]) + w["noise"]).mean()
    loss = limited + held + sharp + likelihood + w["price"].detach().exp() * scores.square().mean()
    learns.zero_grad()
    loss.backward()
    learns.step()

    pays.zero_grad()
    (-w["price"].exp() * (scores.detach().square().mean() - 1.0)).sum().backward()
    pays.step()

    fake = maker(torch.randn(40, 3))
    critics.zero_grad()
    (critic(fake.detach()).mean() - critic(x).mean()).backward()
    critics.step()
    with torch.no_grad():
        for p in critic.parameters():
            p.clamp_(-0.5, 0.5)
    makers.zero_grad()
    (-critic(fake).mean()).backward()
    makers.step()
    if step % 8 == 0:
        print(step, loss.item())
