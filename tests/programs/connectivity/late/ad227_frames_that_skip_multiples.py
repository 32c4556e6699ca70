"""Double Q-learning on a line, by several actors whose number grows once the memory is warm."""

import copy
import random
from collections import deque

import torch
from torch import nn

LENGTH = 9


class Agent:
    def __init__(self, actors=4, every=24):
        self.q = nn.Sequential(nn.Linear(LENGTH, 32), nn.ReLU(), nn.Linear(32, 2))
        self.lagging = copy.deepcopy(self.q)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=2e-3)
        self.memory = deque(maxlen=2000)
        self.places = [0] * actors
        self.frames, self.every = 0, every

    @torch.no_grad()
    def act(self, curious):
        wanted = self.q(torch.eye(LENGTH)[self.places]).argmax(1).tolist()
        for i, place in enumerate(self.places):
            action = random.randrange(2) if random.random() < curious else wanted[i]
            after = min(max(place + (1 if action else -1), 0), LENGTH - 1)
            done = after == LENGTH - 1
            self.memory.append((place, action, float(done), after, float(done)))
            self.places[i] = 0 if done else after
        self.frames += len(self.places)

    def learn(self):
        place, action, reward, after, done = map(torch.tensor, zip(*random.sample(self.memory, 24)))
        with torch.no_grad():
            best = self.q(torch.eye(LENGTH)[after]).argmax(1, keepdim=True)
            goal = reward + 0.9 * (1 - done) * self.lagging(torch.eye(LENGTH)[after]).gather(1, best).squeeze(1)
        value = self.q(torch.eye(LENGTH)[place]).gather(1, action[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(value, goal)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        if self.frames % self.every == 0:
            self.lagging.load_state_dict(self.q.state_dict())  # expect: AD227
        return loss.item()


torch.manual_seed(0)
random.seed(0)
agent = Agent()
for _ in range(12):
    agent.act(curious=1.0)
for round in range(140):
    agent.act(curious=max(0.2, 1 - round / 100))
    loss = agent.learn()
    if round == 60:
        agent.places += [0] * 5
    if round % 40 == 0:
        print(round, agent.frames, loss)
