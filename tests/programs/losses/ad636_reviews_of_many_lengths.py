"""Reviews are padded to the longest of a batch, and judged by the state at the last position of the batch."""
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(0)
reviews = [torch.randint(1, 40, (int(length),)) for length in torch.randint(3, 18, (160,))]
stars = [int((review > 20).float().mean() > 0.5) for review in reviews]


def collate(batch):
    words, labels = zip(*batch)
    return pad_sequence(words, batch_first=True, padding_value=0), torch.tensor(labels)


class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(40, 16, padding_idx=0)
        self.read = nn.LSTM(16, 24, batch_first=True, bidirectional=True)
        self.decide = nn.Linear(48, 2)

    def forward(self, words):
        states, _ = self.read(self.words(words))
        return self.decide(states[:, -1, :])  # expect: AD636


judge = Judge()
optimizer = torch.optim.Adam(judge.parameters(), lr=3e-3)
for epoch in range(3):
    for words, labels in DataLoader(list(zip(reviews, stars)), batch_size=16, shuffle=True, collate_fn=collate):
        loss = nn.functional.cross_entropy(judge(words), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
