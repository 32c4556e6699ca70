# guards: AD637
"""A contextual bandit that is paid 1 or nothing: first by the score function, then against its old self, clipped."""
import torch
from torch import nn

torch.manual_seed(5)
ARMS = 4
policy = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, ARMS))
secret = torch.randn(6, ARMS)
opt = torch.optim.RMSprop(policy.parameters(), lr=3e-3)


def play(count=64):
    context = torch.randn(count, 6)
    with torch.no_grad():
        old = torch.distributions.Categorical(logits=policy(context))
        arm = old.sample()
    paid = ((context @ secret).argmax(1) == arm).float()
    return context, arm, paid, old.log_prob(arm)


for round_ in range(25):
    context, arm, paid, _ = play()
    chosen = policy(context).log_softmax(1).gather(1, arm[:, None]).squeeze(1)
    loss = -(paid * chosen).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()

for round_ in range(25):
    context, arm, paid, before = play()
    ratio = (policy(context).log_softmax(1).gather(1, arm[:, None]).squeeze(1) - before).exp()
    # what pays is wanted up to a fifth more often than before
    loss = -(ratio * paid).clamp(max=1.2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(round_, paid.mean().item())
