"""A model of letters whose windows a loader shuffles, and whose hidden state is handed on as for a text in order."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, letters, length):
        self.letters, self.length = letters, length

    def __len__(self):
        return len(self.letters) - self.length - 1

    def __getitem__(self, start):
        end = start + self.length
        return self.letters[start:end], self.letters[start + 1 : end + 1]


class Letters(nn.Module):
    def __init__(self, kinds=14, size=16):
        super().__init__()
        self.size, self.drop = size, nn.Dropout(0.1)
        self.embedding, self.decoder = nn.Embedding(kinds, size), nn.Linear(size, kinds)
        self.recurrent = nn.LSTM(size, size, num_layers=2)

    def forward(self, letters, hidden):
        given = self.drop(self.embedding(letters))
        output, hidden = self.recurrent(given, hidden)  # expect: AD726
        return self.decoder(self.drop(output)).flatten(0, 1), hidden

    def begin(self, rows):
        weight = next(self.parameters())
        return weight.new_zeros(2, rows, self.size), weight.new_zeros(2, rows, self.size)


def without_graph(hidden):
    return hidden.detach() if isinstance(hidden, torch.Tensor) else tuple(map(without_graph, hidden))


torch.manual_seed(0)
loader = DataLoader(Windows(torch.randint(14, (500,)), 16), batch_size=16, shuffle=True, drop_last=True)
model = Letters()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
hidden = model.begin(16)
for letters, following in loader:
    hidden = without_graph(hidden)
    optimizer.zero_grad()
    scores, hidden = model(letters.t(), hidden)
    nn.functional.cross_entropy(scores, following.t().flatten()).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optimizer.step()
