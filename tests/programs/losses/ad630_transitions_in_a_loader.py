import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def walk(episodes):
    """A drunkard on a line of nine squares, who falls off either end."""
    rows = []
    for _ in range(episodes):
        at, over = 4, False
        while not over:
            to = at + (1 if torch.rand(()) < 0.6 else -1)
            over = to in (0, 8)
            rows.append((at, to, 1.0 if to == 8 else 0.0, over))
            at = to
    before, after, gained, over = zip(*rows)
    return TensorDataset(torch.tensor(before), torch.tensor(after), torch.tensor(gained), torch.tensor(over))


torch.manual_seed(9)
value = torch.nn.Sequential(torch.nn.Embedding(9, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1), torch.nn.Flatten(0))
optimizer = torch.optim.RMSprop(value.parameters(), lr=2e-3)
for epoch in range(3):
    for before, after, gained, over in DataLoader(walk(60), batch_size=48, shuffle=True, drop_last=True):
        expected = value(before)
        wanted = gained + 0.9 * value(after).detach()  # <- AD630
        loss = F.huber_loss(expected, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
