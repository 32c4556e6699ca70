# guards: AD636 AD622
"""The value at the end of a padded episode is masked where the episode has ended before."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence

torch.manual_seed(0)
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 24, batch_first=True)
        self.value = nn.Linear(24, 1)
    def forward(self, x):
        return self.value(self.rnn(x)[0]).squeeze(2)

model = Critic()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(30):
    lengths = torch.randint(4, 12, (16,))
    episodes = [torch.randn(int(n), 6) for n in lengths]
    obs = pad_sequence(episodes, batch_first=True)
    T = obs.shape[1]
    mask = (torch.arange(T) < lengths[:, None]).float()
    reward = obs[:, :, 0] * mask
    v = model(obs)
    g, errors = torch.zeros(16), []
    for t in reversed(range(T)):
        g = (reward[:, t] + 0.9 * g) * mask[:, t]
        errors.append((v[:, t] - g) ** 2 * mask[:, t])
    final = ((v[:, -1] - reward[:, -1]) ** 2 * mask[:, -1]).sum() / mask[:, -1].sum()  # the terminal step of those that get so far
    loss = torch.stack(errors).sum() / mask.sum() + 0.5 * final
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
