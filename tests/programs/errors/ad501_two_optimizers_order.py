"""DDPG-like: the critic steps between the actor's forward and the actor's backward."""
import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class Actor(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 32), nn.ReLU(), nn.Linear(32, act), nn.Tanh())

    def forward(self, s):
        return self.net(s)


class Critic(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.l1 = nn.Linear(obs + act, 32)
        self.l2 = nn.Linear(32, 1)

    def forward(self, s, a):
        return self.l2(F.relu(self.l1(torch.cat([s, a], 1))))


class ReplayBuffer:
    def __init__(self):
        self.storage = []

    def add(self, *transition):
        self.storage.append(transition)

    def sample(self, n):
        return [torch.stack(column) for column in zip(*random.sample(self.storage, n))]


def soft_update(target, source, tau=0.05):
    for t, s in zip(target.parameters(), source.parameters()):
        t.data.copy_(tau * s.data + (1 - tau) * t.data)


def main():
    random.seed(0)
    torch.manual_seed(0)
    actor, critic = Actor(2, 1), Critic(2, 1)
    actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=3e-3)
    buffer = ReplayBuffer()
    state = torch.zeros(2)
    for t in range(90):
        with torch.no_grad():
            action = (actor(state.unsqueeze(0)).squeeze(0) + 0.3 * torch.randn(1)).clamp(-1, 1)
        next_state = torch.stack([state[0] + 0.2 * action[0], torch.rand(()) - 0.5])
        reward = -(next_state[0] - state[1]).abs().unsqueeze(0)
        buffer.add(state, action, reward, next_state)
        state = next_state.clamp(-1, 1)
        if t < 64:
            continue
        s, a, r, s2 = buffer.sample(32)
        with torch.no_grad():
            target_q = r + 0.9 * critic_target(s2, actor_target(s2))
        critic_loss = F.mse_loss(critic(s, a), target_q)
        actor_loss = -critic(s, actor(s)).mean()
        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()  # expect: AD501
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        soft_update(actor_target, actor)
        soft_update(critic_target, critic)
    print(critic_loss.item(), actor_loss.item())


if __name__ == "__main__":
    main()
