"""A2C on a contextual bandit; the entropy bonus is computed but missing from the total (AD219)."""
import torch
from torch import nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, n_actions):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh())
        self.pi = nn.Linear(32, n_actions)
        self.v = nn.Linear(32, 1)

    def forward(self, obs):
        h = self.shared(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class A2C:
    def __init__(self, env_w, ent_coef=0.01, vf_coef=0.5, lr=1e-2):
        self.env_w = env_w
        self.net = ActorCritic(*env_w.shape)
        self.optimizer = torch.optim.RMSprop(self.net.parameters(), lr=lr)
        self.ent_coef, self.vf_coef = ent_coef, vf_coef

    def collect(self, n=128):
        obs = torch.randn(n, self.env_w.shape[0])
        with torch.no_grad():
            actions = self.net(obs)[0].sample()
        best = (obs @ self.env_w).argmax(-1)
        return obs, actions, (actions == best).float()

    def update(self):
        obs, actions, rewards = self.collect()
        dist, values = self.net(obs)
        advantage = rewards - values.detach()
        policy_loss = -(dist.log_prob(actions) * advantage).mean()
        value_loss = (rewards - values).pow(2).mean()
        entropy_loss = -dist.entropy().mean()  # expect: AD219
        loss = policy_loss + self.vf_coef * value_loss
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 0.5)
        self.optimizer.step()
        return rewards.mean().item(), loss.item()


torch.manual_seed(0)
agent = A2C(torch.randn(5, 3))
for i in range(40):
    reward, loss = agent.update()
    if i % 10 == 9:
        print(f"update {i + 1}: mean reward {reward:.3f} loss {loss:.3f}")
