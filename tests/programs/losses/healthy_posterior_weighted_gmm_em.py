# guards: AD631
import torch
from torch import nn
from torch.distributions import Categorical, Normal

torch.manual_seed(0)
data = torch.cat([torch.randn(200, 2) * 0.4 + 2, torch.randn(200, 2) * 0.4 - 2, torch.randn(200, 2) * 0.4])
logits, means = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.randn(3, 2))
log_std = nn.Parameter(torch.zeros(3, 2))
optimizer = torch.optim.Adam([logits, means, log_std], lr=2e-2)
for epoch in range(6):
    for rows in torch.randperm(600).split(60):
        x = data[rows]
        component = Normal(means, log_std.clamp(-3, 2).exp())
        joint = component.log_prob(x[:, None]).sum(2) + logits.log_softmax(0)
        posterior = Categorical(logits=joint.detach())
        loss = -(posterior.probs * joint).sum(1).mean() - posterior.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
