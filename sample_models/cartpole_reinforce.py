"""REINFORCE balances a pole on a cart that is simulated here. Healthy: graphs live until their episode is learned."""

import math

import torch
from torch import nn
from torch.distributions import Categorical


class CartPole:
    """A pole on a cart that is pushed left or right; the episode ends when the pole leans too far."""

    def reset(self) -> torch.Tensor:
        self.state = 0.1 * (torch.rand(4) - 0.5)
        self.time = 0
        return self.state

    def step(self, push_right: int) -> tuple[torch.Tensor, float, bool]:
        position, speed, angle, spin = self.state.tolist()
        force = 10.0 if push_right else -10.0
        sine, cosine = math.sin(angle), math.cos(angle)
        pull = (force + 0.05 * spin**2 * sine) / 1.1
        turn = (9.8 * sine - cosine * pull) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        push = pull - 0.05 * turn * cosine / 1.1
        self.state = torch.tensor(
            [position + 0.02 * speed, speed + 0.02 * push, angle + 0.02 * spin, spin + 0.02 * turn]
        )
        self.time += 1
        fallen = abs(self.state[2].item()) > 0.21 or abs(self.state[0].item()) > 2.4
        return self.state, 1.0, fallen or self.time >= 100


def discounted(rewards: list[float], factor: float = 0.97) -> torch.Tensor:
    """What each step earned from there on, normalised."""
    returns, ahead = [], 0.0
    for reward in reversed(rewards):
        ahead = reward + factor * ahead
        returns.insert(0, ahead)
    earned = torch.tensor(returns)
    return (earned - earned.mean()) / (earned.std() + 1e-6)


def main(episodes: int = 50) -> None:
    torch.manual_seed(0)
    environment = CartPole()
    policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    lengths = []
    for episode in range(episodes):
        state, done = environment.reset(), False
        log_probabilities, rewards = [], []
        while not done:
            choice = Categorical(logits=policy(state))
            action = choice.sample()
            log_probabilities.append(choice.log_prob(action))
            state, reward, done = environment.step(int(action))
            rewards.append(reward)
        loss = -(torch.stack(log_probabilities) * discounted(rewards)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lengths.append(len(rewards))
        if episode % 10 == 9:
            print(f"episode {episode + 1}: the pole stood for {sum(lengths[-10:]) / 10:.0f} steps")


if __name__ == "__main__":
    main()
