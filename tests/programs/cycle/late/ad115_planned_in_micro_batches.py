"""A tagger that accumulates over four batches, whose warm-up and decay were planned in batches."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(1)
        self.words = torch.randint(1, 50, (count, 7), generator=generator)

    def __len__(self):
        return len(self.words)

    def __getitem__(self, index):
        words = self.words[index]
        return {"words": words, "tags": words % 5}


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.rnn = nn.GRU(16, 16, batch_first=True, bidirectional=True)
        self.out = nn.Linear(32, 5)

    def forward(self, words):
        return self.out(self.rnn(self.embed(words))[0])


def main(epochs=4, accumulate=4):
    torch.manual_seed(0)
    loader = DataLoader(Sentences(48), batch_size=3, shuffle=True)
    tagger = Tagger()
    optimizer = torch.optim.AdamW(tagger.parameters(), lr=5e-3)
    total = epochs * len(loader)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=total, pct_start=0.1)
    for _ in range(epochs):
        for number, batch in enumerate(loader, start=1):
            scores = tagger(batch["words"])
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), batch["tags"].flatten())
            (loss / accumulate).backward()
            if number % accumulate == 0:
                optimizer.step()
                schedule.step()  # expect: AD115
                optimizer.zero_grad()


main()
