# guards: AD631 AD632
import torch
from torch import nn
from torch.distributions import Beta, Categorical, Independent, Normal

torch.manual_seed(3)
trunk = nn.Sequential(nn.Linear(4, 32), nn.SiLU())
which, how, worth = nn.Linear(32, 3), nn.Linear(32, 4), nn.Linear(32, 1)
log_temperature = nn.Parameter(torch.tensor(-2.0))
modules = nn.ModuleList([trunk, which, how, worth])
optimizer = torch.optim.RMSprop([*modules.parameters(), log_temperature], lr=1e-3)
goal = torch.randn(4, 2)
for step in range(30):
    state = torch.randn(48, 4)
    hidden = trunk(state)
    kind = Categorical(logits=which(hidden))
    mean, spread = how(hidden).chunk(2, dim=-1)
    move = Independent(Normal(mean, nn.functional.softplus(spread) + 1e-3), 1)
    chosen, moved = kind.sample(), move.sample()
    reward = -(moved - state @ goal).norm(dim=1) + (chosen == 2).float()
    value = worth(hidden).squeeze(1)
    advantage = (reward - value).detach()
    score = kind.log_prob(chosen) + move.log_prob(moved)
    bonus = 0.02 * kind.entropy() + 0.005 * move.entropy()
    actor = -(score * advantage + bonus).mean()
    imagined = move.rsample()
    pathwise = ((imagined - state @ goal).square().sum(1) + log_temperature.exp() * move.log_prob(imagined)).mean()
    prior = torch.distributions.kl_divergence(Beta(hidden.abs().mean() + 1, 2.0), Beta(2.0, 2.0))
    loss = actor + 0.1 * pathwise + 0.5 * (reward - value).pow(2).mean() + 0.01 * prior + 0.1 * log_temperature.pow(2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
