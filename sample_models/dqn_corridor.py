"""A Q-network learns to walk down a corridor. Sick: the values kept for a plot hold on to the graph of every move."""

import random
from collections import deque

import torch
from torch import nn

LENGTH = 10
LEFT, RIGHT = 0, 1


class Corridor:
    """The agent starts in the middle; the right end pays, the left end does not."""

    def reset(self) -> torch.Tensor:
        self.place = LENGTH // 2
        return self.observe()

    def observe(self) -> torch.Tensor:
        return nn.functional.one_hot(torch.tensor(self.place), LENGTH).float()

    def move(self, action: int) -> tuple[torch.Tensor, float, bool]:
        self.place += 1 if action == RIGHT else -1
        done = self.place in (0, LENGTH - 1)
        return self.observe(), float(self.place == LENGTH - 1), done


class Agent:
    def __init__(self) -> None:
        self.online = self.build()
        self.target = self.build()
        self.target.load_state_dict(self.online.state_dict())
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=0.005)
        self.memory = deque(maxlen=500)
        self.confidence = []

    def build(self) -> nn.Module:
        return nn.Sequential(nn.Linear(LENGTH, 32), nn.ReLU(), nn.Linear(32, 2))

    def act(self, state: torch.Tensor, curiosity: float) -> int:
        values = self.online(state)
        self.confidence.append(values.max())  # expect: AD301
        return random.randrange(2) if random.random() < curiosity else int(values.argmax())

    def learn(self, batch: int = 32, discount: float = 0.95) -> None:
        states, actions, rewards, successors, ends = zip(*random.sample(self.memory, batch))
        with torch.no_grad():
            best = self.target(torch.stack(successors)).max(dim=1).values
            goal = torch.tensor(rewards) + discount * best * ~torch.tensor(ends)
        value = self.online(torch.stack(states)).gather(1, torch.tensor(actions).unsqueeze(1)).squeeze(1)
        loss = nn.functional.smooth_l1_loss(value, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def main(episodes: int = 60) -> None:
    random.seed(0)
    torch.manual_seed(0)
    corridor, agent = Corridor(), Agent()
    wins = 0.0
    for episode in range(episodes):
        state, done = corridor.reset(), False
        while not done:
            action = agent.act(state, curiosity=max(0.05, 1 - episode / 40))
            successor, reward, done = corridor.move(action)
            agent.memory.append((state, action, reward, successor, done))
            state = successor
            if len(agent.memory) >= 64:
                agent.learn()
        wins += reward
        if episode % 10 == 9:
            agent.target.load_state_dict(agent.online.state_dict())
            print(f"episode {episode + 1}: {wins:.0f} wins, best value {float(agent.confidence[-1].detach()):.2f}")


if __name__ == "__main__":
    main()
