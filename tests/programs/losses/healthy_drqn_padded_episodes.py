# guards: AD630 AD622
import random

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.head = nn.GRU(3, 24, batch_first=True), nn.Linear(24, 2)

    def forward(self, x):
        return self.head(self.gru(x)[0])


online, frozen = Recurrent(), Recurrent()
frozen.load_state_dict(online.state_dict())
optimizer = torch.optim.Adam(online.parameters(), lr=2e-3)
episodes = []
for _ in range(80):
    length = random.randint(4, 10)
    observations = torch.randn(length, 3)
    actions = torch.randint(0, 2, (length,))
    rewards = torch.where(actions == 1, observations[:, 0], observations[:, 1])
    episodes.append((observations, actions, rewards))
pad = nn.utils.rnn.pad_sequence
for step in range(60):
    batch = random.sample(episodes, 16)
    observations = pad([each[0] for each in batch], batch_first=True)
    actions = pad([each[1] for each in batch], batch_first=True)
    rewards = pad([each[2] for each in batch], batch_first=True)
    valid = torch.tensor([[t < len(each[1]) for t in range(actions.shape[1])] for each in batch])
    with torch.no_grad():
        best = frozen(observations).max(dim=2).values
        for row, each in enumerate(batch):
            best[row, len(each[1]) :] = 0
        after = torch.cat([best[:, 1:], torch.zeros(len(batch), 1)], dim=1)
        target = rewards + 0.9 * after
    chosen = online(observations).gather(2, actions[:, :, None]).squeeze(2)
    errors = nn.functional.smooth_l1_loss(chosen, target, reduction="none")
    loss = errors[valid].mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 14:
        frozen.load_state_dict(online.state_dict())
