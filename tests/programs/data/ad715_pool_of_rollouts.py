import torch
from torch import nn


class World:
    def __init__(self, size):
        self.view = torch.zeros(size)
        self.agent = torch.zeros(2)

    def observe(self):
        self.view.zero_()
        self.view[:2] = self.agent
        self.view[2:4] = self.agent.sin()
        return self.view

    def move(self, direction):
        self.agent = 0.9 * self.agent + 0.2 * direction + 0.05 * torch.randn(2)


def collect(world, length):
    observations, moves = [], []
    for _ in range(length):
        move = torch.randn(2)
        observations.append(world.observe())
        moves.append(-world.agent + 0.01 * move)
        world.move(move)
    return observations, torch.stack(moves)


def main():
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.05, momentum=0.9)
    world = World(6)
    for _ in range(40):
        observations, moves = collect(world, 24)
        loss = (policy(torch.stack(observations)) - moves).square().mean()  # <- AD715
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


main()
