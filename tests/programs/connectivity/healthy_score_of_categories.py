# guards: AD216
"""A mixture with sampled assignments: the cost of a category, looked up in a table, is in the loss beside its score."""
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
router = nn.Linear(4, 3)
experts = nn.ModuleList(nn.Linear(4, 1) for _ in range(3))
optimizer = torch.optim.Adam([*router.parameters(), *experts.parameters()], lr=0.01)
price = torch.tensor([0.0, 0.1, 0.3])

for step in range(40):
    x = torch.randn(64, 4)
    target = torch.where(x[:, :1] > 0, x[:, 1:2], -x[:, 2:3])
    choice = Categorical(logits=router(x))
    picked = choice.sample()
    answers = torch.stack([expert(x).squeeze(1) for expert in experts], 1)
    error = (answers.gather(1, picked[:, None]) - target).square().squeeze(1)
    cost = error + price[picked]
    score = choice.log_prob(picked) * (cost - cost.mean()).detach()
    loss = (cost + score).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(cost.mean().item())
