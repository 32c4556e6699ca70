# guards: AD631
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
x = torch.randn(256, 6)
y = (x[:, 0] + 0.5 * x[:, 1] > 0).long() + (x[:, 2] > 0.8).long()
trust = torch.rand(256) * 0.5 + 0.5
unlabelled = torch.randn(1024, 6)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(10):
    for rows in torch.randperm(256).split(32):
        labelled = Categorical(logits=model(x[rows]))
        other = Categorical(logits=model(unlabelled[torch.randint(0, 1024, (64,))]))
        supervised = -(labelled.log_prob(y[rows]) * trust[rows]).sum() / trust[rows].sum()
        confidence = other.entropy().mean()
        loss = supervised + 0.1 * confidence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
