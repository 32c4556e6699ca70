"""A2C on a chain of states; the critic's optimizer is built, its gradients flow, and it never steps."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Chain:
    """Walk right for a reward of one, each move costs a little."""

    def __init__(self, n=6):
        self.n = n

    def reset(self):
        self.s, self.t = 0, 0
        return self._obs()

    def _obs(self):
        return F.one_hot(torch.tensor(self.s), self.n).float()

    def step(self, a):
        self.s = max(0, self.s + (1 if a == 1 else -1))
        self.t += 1
        done = self.s == self.n - 1 or self.t >= 15
        return self._obs(), (1.0 if self.s == self.n - 1 else -0.05), done


class A2CAgent:
    def __init__(self, obs_dim, n_actions, gamma=0.95):
        self.gamma = gamma
        self.actor = nn.Sequential(nn.Linear(obs_dim, 24), nn.Tanh(), nn.Linear(24, n_actions))
        self.critic = nn.Sequential(nn.Linear(obs_dim, 24), nn.Tanh(), nn.Linear(24, 1))
        self.actor_optim = torch.optim.Adam(self.actor.parameters(), lr=1e-2)
        self.critic_optim = torch.optim.Adam(self.critic.parameters(), lr=1e-2)

    def update(self, obs, actions, rewards):
        returns, R = [], 0.0
        for r in reversed(rewards):
            R = r + self.gamma * R
            returns.append(R)
        returns = torch.tensor(returns[::-1])
        obs, actions = torch.stack(obs), torch.tensor(actions)
        values = self.critic(obs).squeeze(-1)
        advantages = returns - values.detach()
        dist = torch.distributions.Categorical(logits=self.actor(obs))
        actor_loss = -(dist.log_prob(actions) * advantages).mean() - 0.01 * dist.entropy().mean()
        critic_loss = F.mse_loss(values, returns)

        self.actor_optim.zero_grad()
        actor_loss.backward()
        self.actor_optim.step()

        self.critic_optim.zero_grad()
        critic_loss.backward()  # expect: AD104
        return actor_loss.item(), critic_loss.item()


def main():
    torch.manual_seed(0)
    env, agent = Chain(), A2CAgent(6, 2)
    for ep in range(60):
        obs, done = env.reset(), False
        O, A, R = [], [], []
        while not done:
            with torch.no_grad():
                a = torch.distributions.Categorical(logits=agent.actor(obs)).sample().item()
            O.append(obs)
            A.append(a)
            obs, r, done = env.step(a)
            R.append(r)
        losses = agent.update(O, A, R)
        if ep % 15 == 0:
            print(ep, sum(R), losses)


main()
