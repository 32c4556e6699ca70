import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.GRUCell(2, 24)
        self.scores = nn.Linear(24, 3)

    def forward(self, seen, memory):
        memory = self.body(seen, memory)
        return torch.distributions.Categorical(logits=self.scores(memory)), memory


torch.manual_seed(4)
policy = Policy()
opt = torch.optim.Adam(policy.parameters(), lr=2e-3)
for round_ in range(15):
    secret = torch.randint(0, 3, (32,))
    memory = torch.zeros(32, 24)
    log_probs, surprises, rewards = [], [], []
    for move in range(5):
        hint = torch.stack([secret.float() - 1, torch.randn(32) * 0.1], dim=1)
        distribution, memory = policy(hint, memory)
        guess = distribution.sample()
        log_probs.append(distribution.log_prob(guess))
        surprises.append(distribution.entropy())  # <- AD631
        rewards.append((guess == secret).float())
    gained = torch.stack(rewards).flip(0).cumsum(0).flip(0)
    gained = (gained - gained.mean()) / (gained.std() + 1e-6)
    objective = (torch.stack(log_probs) * gained).sum(0).mean() - 0.05 * torch.stack(surprises).sum(0).mean()
    opt.zero_grad()
    (-objective).backward()
    opt.step()
