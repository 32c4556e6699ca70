import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Sequences(Dataset):
    """Lists of tensors of one length, with a score each."""

    def __init__(self, n=48):
        self.sequences = [torch.randn(7, 3) for _ in range(n)]
        self.scores = torch.stack([s.sum() for s in self.sequences])

    def __len__(self):
        return len(self.sequences)

    def __getitem__(self, i):
        sequence, score = self.sequences[i], self.scores[i]
        sequence.sub_(sequence.mean(0)).mul_(0.5)  # expect: AD712
        return sequence, score


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 10, batch_first=True)
        self.out = nn.Linear(10, 1)

    def forward(self, x):
        _, last = self.rnn(x)
        return self.out(last[-1]).squeeze(-1)


def train(epochs):
    loader = DataLoader(Sequences(), batch_size=8, shuffle=True)
    scorer = Scorer()
    optimizer = torch.optim.Adam(scorer.parameters(), lr=1e-3)
    for _ in range(epochs):
        for x, y in loader:
            loss = F.smooth_l1_loss(scorer(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


train(5)
