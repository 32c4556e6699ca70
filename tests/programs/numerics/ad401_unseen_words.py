import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, words, tags, width=12):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.read = nn.GRU(width, width, batch_first=True)
        self.tags = nn.Linear(width, tags)

    def forward(self, sentence):
        return self.tags(self.read(self.words(sentence))[0])


def optimizer_for(model, settings):
    return torch.optim.AdamW(model.parameters(), **settings)  # <- AD401


def run(epochs=4):
    torch.manual_seed(3)
    sentences = torch.randint(0, 90, (48, 7))
    labels = sentences % 5
    model = Tagger(100, 5)
    optimizer = optimizer_for(model, {"lr": 3e-3, "eps": 0.0, "betas": (0.9, 0.99)})
    criterion = nn.CrossEntropyLoss()
    for _ in range(epochs):
        for rows in torch.randperm(48).split(12):
            scores = model(sentences[rows])
            loss = criterion(scores.flatten(0, 1), labels[rows].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


run()
