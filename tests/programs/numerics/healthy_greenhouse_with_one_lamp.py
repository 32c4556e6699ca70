# guards: AD410 AD613
# A policy with several knobs, each with its own number of settings; the lamp of this greenhouse has one.
import torch
from torch import nn
from torch.distributions import Categorical

SETTINGS = {"valve": 3, "lamp": 1, "window": 2}
torch.manual_seed(1)
body = nn.Sequential(nn.Linear(5, 32), nn.Tanh())
knobs = nn.ModuleDict({name: nn.Linear(32, n) for name, n in SETTINGS.items()})
critic = nn.Linear(32, 1)
opt = torch.optim.Adam([*body.parameters(), *knobs.parameters(), *critic.parameters()], lr=1e-2)


def reward_of(obs, turned):
    thirsty, hot = obs[:, :3].argmax(1), (obs[:, 3] > 0).long()
    return (turned["valve"] == thirsty).float() + 0.5 * (turned["window"] == hot).float()


for episode in range(40):
    obs = torch.randn(96, 5)
    h = body(obs)
    policy = {name: Categorical(probs=torch.softmax(knob(h), dim=-1)) for name, knob in knobs.items()}
    turned = {name: dist.sample() for name, dist in policy.items()}
    reward, value = reward_of(obs, turned), critic(h).squeeze(1)
    logp = sum(dist.log_prob(turned[name]) for name, dist in policy.items())
    loss = -((reward - value.detach()) * logp).mean() + 0.5 * (reward - value).square().mean()
    loss = loss - 0.005 * sum(dist.entropy() for dist in policy.values()).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(reward.mean().item())
