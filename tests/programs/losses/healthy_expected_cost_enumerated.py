# guards: AD632
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
x = torch.randn(512, 4)
y = torch.where(x[:, 0] > 0, x[:, 1] * 2 + 1, -x[:, 2])
gate = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
experts = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 3))
optimizer = torch.optim.Adam([*gate.parameters(), *experts.parameters()], lr=3e-3)
for epoch in range(8):
    for rows in torch.randperm(512).split(64):
        choice = Categorical(logits=gate(x[rows]))
        support = choice.enumerate_support()
        probabilities = choice.log_prob(support).exp().t()
        costs = (experts(x[rows]) - y[rows][:, None]).pow(2)
        loss = (probabilities * costs).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
