# guards: AD708 AD608
"""Sequences are sorted by their lengths for packing; the batch holds the way back, by which the model returns."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader


def collate(samples):
    sequences, sums = zip(*samples)
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    order = lengths.argsort(descending=True)
    padded = pad_sequence([sequences[place] for place in order], batch_first=True)
    return padded, lengths[order], order.argsort(), torch.stack(sums)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(3, 12, batch_first=True), nn.Linear(12, 1)

    def forward(self, padded, lengths, back):
        packed = pack_padded_sequence(padded, lengths, batch_first=True)
        return self.head(self.lstm(packed)[1][0][-1])[back]


torch.manual_seed(0)
data = [torch.randn(int(torch.randint(2, 8, ())), 3) for _ in range(64)]
loader = DataLoader([(each, each.sum()[None]) for each in data], 16, shuffle=True, collate_fn=collate)
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for padded, lengths, back, sums in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(padded, lengths, back), sums).backward()
        optimizer.step()
