"""A shop draws discounts from a policy in `eval` mode and weighs what it earned by ratios of one in `train` mode."""

import torch
from torch import nn

torch.manual_seed(2)
policy = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Dropout(0.4), nn.Linear(48, 5))
taste = torch.randn(8, 5)
optimizer = torch.optim.AdamW(policy.parameters(), lr=2e-3)


def log_chances(visitors):
    return torch.log_softmax(policy(visitors), dim=1)


for evening in range(6):
    visitors = torch.randn(160, 8)
    policy.eval()
    with torch.inference_mode():
        scores = log_chances(visitors)
        shown = torch.distributions.Categorical(logits=scores).sample()
        old = scores.gather(1, shown[:, None]).squeeze(1)
    visitors, shown, old = visitors.clone(), shown.clone(), old.clone()
    earned = (visitors @ taste).gather(1, shown[:, None]).squeeze(1)
    policy.train()
    for part in range(4):
        rows = slice(40 * part, 40 * part + 40)
        now = log_chances(visitors[rows]).gather(1, shown[rows, None]).squeeze(1)
        weight = (now - old[rows]).exp()  # expect: AD228
        loss = -(weight.clamp(max=4) * (earned[rows] - earned.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
