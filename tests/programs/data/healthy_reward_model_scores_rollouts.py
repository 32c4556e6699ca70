# guards: AD706
"""A reward model is fitted to rated sequences, and then scores part of the same prompts for a policy that imitates."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
prompts = torch.randn(400, 6)
ratings = torch.tanh(prompts[:, :3].sum(1, keepdim=True))
reward = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
fit = torch.optim.Adam(reward.parameters(), lr=5e-3)
for _ in range(3):
    for given, rated in DataLoader(TensorDataset(prompts, ratings), batch_size=40, shuffle=True):
        fit.zero_grad()
        nn.functional.mse_loss(reward(given), rated).backward()
        fit.step()

reward.eval()
policy = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 2))
improve = torch.optim.Adam(policy.parameters(), lr=3e-3)
for given, _ in DataLoader(TensorDataset(prompts, ratings), batch_size=10, shuffle=True):
    chosen = torch.distributions.Categorical(logits=policy(given))
    action = chosen.sample()
    with torch.no_grad():
        score = reward(given).squeeze(1)
    gain = torch.where(action == 1, score, -score)
    improve.zero_grad()
    (-(chosen.log_prob(action) * gain).mean() - 0.01 * chosen.entropy().mean()).backward()
    improve.step()
print("right in", ((policy(prompts).argmax(1) == 1) == (ratings.squeeze(1) > 0)).float().mean().item())
