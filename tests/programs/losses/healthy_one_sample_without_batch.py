# guards: AD608
"""A value network and a small convolutional one act on single observations, which have no batch axis at all."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Values(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(4, 16), nn.Linear(16, 16), nn.Linear(16, 3)

    def forward(self, observation):
        return self.last(F.relu(self.second(F.relu(self.first(observation)))))

    def act(self, observation):
        return int(self.forward(observation).argmax())


class Eye(nn.Module):
    def __init__(self):
        super().__init__()
        self.look, self.judge = nn.Conv2d(3, 3, 3, padding=1), nn.Linear(3 * 6 * 6, 3)

    def forward(self, image):
        return self.judge(F.relu(self.look(image)).flatten(-3))


values, eye = Values(), Eye()
optimizer = torch.optim.Adam([*values.parameters(), *eye.parameters()], lr=3e-3)
memory = []
for step in range(40):
    seen, image = torch.randn(4), torch.randn(3, 6, 6)
    action = values.act(seen)
    memory.append((seen, action, float(seen[action])))
    chosen = torch.randint(len(memory), (16,)).tolist()
    observations = torch.stack([memory[i][0] for i in chosen])
    actions = torch.tensor([memory[i][1] for i in chosen])
    rewards = torch.tensor([memory[i][2] for i in chosen])
    loss = F.smooth_l1_loss(values(observations).gather(1, actions[:, None]).squeeze(1), rewards)
    loss = loss + F.mse_loss(eye(image), image.mean((1, 2)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
