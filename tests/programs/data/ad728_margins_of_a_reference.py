import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(26, 16)
        self.recurrent = nn.GRU(16, 16, batch_first=True)
        self.head = nn.Linear(16, 26)

    def forward(self, text):
        return self.head(self.recurrent(self.letters(text))[0])


def score(writer, text):
    """The log-probability of each text."""
    found = writer(text[:, :-1]).log_softmax(-1)
    return found.gather(-1, text[:, 1:, None]).squeeze(-1).sum(1)


def margins(writer, liked, other):
    return score(writer, liked) - score(writer, other)


torch.manual_seed(0)
pairs = TensorDataset(torch.randint(0, 26, (160, 7)), torch.randint(0, 26, (160, 7)))
loader = DataLoader(pairs, batch_size=20, shuffle=True)
policy = Writer()
reference = copy.deepcopy(policy)
with torch.no_grad():
    of_reference = [margins(reference, liked, other) for liked, other in loader]

optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3)
for _ in range(4):
    for (liked, other), wanted in zip(loader, of_reference, strict=True):
        gain = margins(policy, liked, other) - wanted  # expect: AD728
        loss = -nn.functional.logsigmoid(0.2 * gain).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
