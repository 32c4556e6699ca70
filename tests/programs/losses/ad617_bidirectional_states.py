"""Sentiment of token sequences from the last states of a bidirectional LSTM."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Reviews(Dataset):
    def __init__(self, size=192, length=9):
        generator = torch.Generator().manual_seed(2)
        self.tokens = torch.randint(1, 50, (size, length), generator=generator)
        self.labels = (self.tokens.float().mean(1) > 25).float()

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return self.tokens[index], self.labels[index]


class Sentiment(nn.Module):
    def __init__(self, vocabulary=50, embedding=12, hidden=10):
        super().__init__()
        self.hidden = hidden
        self.embedding = nn.Embedding(vocabulary, embedding, padding_idx=0)
        self.lstm = nn.LSTM(embedding, hidden, bidirectional=True, batch_first=True)
        self.dropout = nn.Dropout(0.2)
        self.classify = nn.Linear(2 * hidden, 1)

    def forward(self, tokens):
        embedded = self.embedding(tokens)
        _, (last, _) = self.lstm(embedded)
        batch = tokens.size(0)
        summary = last.view(batch, 2 * self.hidden)  # expect: AD617
        return self.classify(self.dropout(summary)).squeeze(1)


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(Reviews(), batch_size=24, shuffle=True)
    net = Sentiment()
    bce = nn.BCEWithLogitsLoss()
    adam = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(3):
        for tokens, labels in loader:
            adam.zero_grad()
            loss = bce(net(tokens), labels)
            loss.backward()
            adam.step()
        print(epoch, loss.item())
