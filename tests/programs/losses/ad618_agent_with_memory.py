"""Q-learning from a replay memory, in one class."""

import random
from collections import deque

import torch
from torch import nn, optim


class Agent:
    def __init__(self, features=4, actions=2, gamma=0.97):
        self.net = nn.Sequential(nn.Linear(features, 24), nn.ReLU(), nn.Linear(24, actions))
        self.optimizer = optim.Adam(self.net.parameters(), lr=1e-3)
        self.memory = deque(maxlen=1000)
        self.gamma = gamma
        self.criterion = nn.SmoothL1Loss()

    def act(self, state, epsilon):
        if random.random() < epsilon:
            return random.randrange(2)
        with torch.no_grad():
            return int(self.net(state).argmax())

    def replay(self, size=32):
        batch = random.sample(list(self.memory), size)
        states, actions, rewards, followings, dones = zip(*batch, strict=True)
        states, followings = torch.stack(states), torch.stack(followings)
        rewards, dones = torch.tensor(rewards), torch.tensor(dones, dtype=torch.float32)
        current = self.net(states).gather(1, torch.tensor(actions).view(-1, 1)).squeeze(-1)
        upcoming = self.net(followings).max(dim=1)[0]
        expected = rewards + self.gamma * upcoming * (1 - dones)  # expect: AD618
        loss = self.criterion(current, expected)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
        self.optimizer.step()
        return loss.item()


def step(state, action):
    following = 0.95 * state + 0.2 * torch.randn(4) + 0.1 * (2 * action - 1)
    return following, -float(following[0].abs()), bool(following[0].abs() > 1.5)


def main():
    random.seed(7)
    torch.manual_seed(7)
    agent = Agent()
    state = torch.zeros(4)
    for turn in range(90):
        action = agent.act(state, epsilon=0.2)
        following, reward, done = step(state, action)
        agent.memory.append((state, action, reward, following, done))
        state = torch.zeros(4) if done else following
        if len(agent.memory) >= 48:
            loss = agent.replay()
            if turn % 20 == 0:
                print(turn, loss)


main()
