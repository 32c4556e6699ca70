"""REINFORCE on a corridor: a loss module for the actions, and the returns of the episode on top of it."""

import torch
import torch.nn as nn
from torch.distributions import Categorical


class Corridor:
    def __init__(self, length=6):
        self.length = length

    def reset(self):
        self.at, self.time = self.length // 2, 0
        return self.seen()

    def seen(self):
        return torch.nn.functional.one_hot(torch.tensor(self.at), self.length + 1).float()

    def step(self, action):
        self.at = max(0, min(self.length, self.at + (1 if action else -1)))
        self.time += 1
        done = self.at == self.length or self.time == 20
        return self.seen(), 1.0 if self.at == self.length else -0.05, done


class Agent(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.scores = nn.Sequential(nn.Linear(size, 24), nn.ReLU(), nn.Linear(24, 2))
        self.picked = nn.CrossEntropyLoss()

    def objective(self, states, actions, returns):
        advantage = (returns - returns.mean()) / (returns.std() + 1e-6)
        return torch.mean(advantage * self.picked(self.scores(states), actions))  # <- AD619


torch.manual_seed(1)
world, agent = Corridor(), Agent(7)
optimizer = torch.optim.RMSprop(agent.parameters(), lr=2e-3)
for episode in range(25):
    state, done, states, actions, rewards = world.reset(), False, [], [], []
    while not done:
        with torch.no_grad():
            action = Categorical(logits=agent.scores(state)).sample()
        states.append(state)
        actions.append(action)
        state, reward, done = world.step(int(action))
        rewards.append(reward)
    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + 0.97 * total
        returns.insert(0, total)
    loss = agent.objective(torch.stack(states), torch.stack(actions), torch.tensor(returns))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(sum(rewards))
