# guards: AD632 AD216
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
x = torch.randn(512, 4)
y = torch.where(x[:, :1] > 0, x[:, 1:2] * 2 + 1, -x[:, 2:3])
gate = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
experts = nn.ModuleList([nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1)) for _ in range(3)])
optimizer = torch.optim.Adam([*gate.parameters(), *experts.parameters()], lr=3e-3)


def magic_box(log_prob):
    return torch.exp(log_prob - log_prob.detach())


for epoch in range(8):
    for rows in torch.randperm(len(x)).split(64):
        inputs, wanted = x[rows], y[rows]
        choice = Categorical(logits=gate(inputs))
        picked = choice.sample()
        outputs = torch.stack([expert(inputs) for expert in experts], dim=1).squeeze(2)
        output = outputs.gather(1, picked[:, None]).squeeze(1)
        cost = (output - wanted.squeeze(1)) ** 2
        baseline = (1 - magic_box(choice.log_prob(picked))) * cost.mean().detach()
        loss = (magic_box(choice.log_prob(picked)) * cost + baseline).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, float(loss))
