# guards: AD216 AD218
"""PPO with a Gaussian policy: old log-probabilities and advantages come from a rollout under no_grad; approx_kl is only logged."""
import torch
import torch.nn as nn
from torch.distributions import Normal


class Policy(nn.Module):
    def __init__(self, obs=4, act=2):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, act))
        self.log_std = nn.Parameter(-0.5 * torch.ones(act))
        self.value = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))

    def dist(self, obs):
        return Normal(self.mean(obs), self.log_std.exp())


def rollout(policy, goal, n=128):
    obs = torch.randn(n, 4)
    with torch.no_grad():
        dist = policy.dist(obs)
        act = dist.sample()
        logp = dist.log_prob(act).sum(-1)
        val = policy.value(obs).squeeze(-1)
    rew = -(act - obs @ goal).pow(2).sum(-1)
    adv = rew - val
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    return obs, act, logp, val, rew, adv


def update(policy, optimizer, data, clip=0.2, epochs=3, vf_coef=0.5, ent_coef=0.0, target_kl=0.05):
    obs, act, logp_old, val_old, ret, adv = data
    for _ in range(epochs):
        dist = policy.dist(obs)
        logp = dist.log_prob(act).sum(-1)
        logratio = logp - logp_old
        ratio = logratio.exp()
        with torch.no_grad():
            approx_kl = ((ratio - 1) - logratio).mean()
        if approx_kl > target_kl:
            break
        pg_loss = torch.max(-adv * ratio, -adv * ratio.clamp(1 - clip, 1 + clip)).mean()
        v = policy.value(obs).squeeze(-1)
        v_clipped = val_old + (v - val_old).clamp(-1, 1)
        v_loss = 0.5 * torch.max((v - ret) ** 2, (v_clipped - ret) ** 2).mean()
        entropy = dist.entropy().sum(-1).mean()
        loss = pg_loss - ent_coef * entropy + vf_coef * v_loss
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        optimizer.step()
    return loss.item(), approx_kl.item()


torch.manual_seed(0)
policy, goal = Policy(), torch.randn(4, 2) * 0.5
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3, eps=1e-5)
for it in range(12):
    data = rollout(policy, goal)
    loss, kl = update(policy, optimizer, data)
    if it % 4 == 3:
        print(it, "reward", data[4].mean().item(), "loss", loss, "kl", kl)
