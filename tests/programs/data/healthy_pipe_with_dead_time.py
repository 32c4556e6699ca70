# guards: AD716
"""Online TD for a heated pipe: outlet temperatures answer to the heater only after a dead time."""
import torch
from torch import nn


class Pipes:
    def __init__(self, n, dead_time=8):
        self.n, self.delay = n, dead_time

    def reset(self):
        self.temperature = 20 + 5 * torch.randn(self.n)
        self.setpoint = 40 + 5 * torch.randn(self.n)
        self.queue = [torch.zeros(self.n) for _ in range(self.delay)]
        return self.observe()

    def observe(self):
        return torch.stack([self.temperature / 20 - 1.5, self.setpoint / 20 - 1.5], 1)

    def step(self):
        # proportional controller, water of the last dead_time minutes is still on its way
        self.queue.append(0.15 * (self.setpoint - self.temperature))
        self.temperature = self.temperature + self.queue.pop(0)
        return self.observe(), -((self.setpoint - self.temperature) / 20).square()


def main():
    torch.manual_seed(0)
    env, gamma = Pipes(64), 0.9
    value = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(value.parameters(), lr=3e-3)
    for episode in range(20):
        state, errors = env.reset(), []
        for t in range(40):
            following, reward = env.step()
            with torch.no_grad():
                target = reward[:, None] + gamma * value(following)
            loss = nn.functional.mse_loss(value(state), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            errors.append(loss.item())
            state = following
        if episode % 4 == 3:
            print(f"episode {episode + 1} td error {sum(errors) / len(errors):.4f}")


main()
