import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
CHARS = ["<pad>", "<s>", "</s>", *"0123456789-/ abcdefghijklmnopqrstuvwxyz"]
INDEX = {c: i for i, c in enumerate(CHARS)}


class Dates(Dataset):
    def __init__(self, n=640):
        rng = random.Random(0)
        self.pairs = []
        for _ in range(n):
            y, m, d = rng.randint(1900, 2030), rng.randint(1, 12), rng.randint(1, 28)
            self.pairs.append((f"{d} {MONTHS[m - 1]} {y}", f"{y}-{m:02d}-{d:02d}"))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        src, tgt = self.pairs[i]
        return torch.tensor([INDEX[c] for c in src]), torch.tensor([1, *(INDEX[c] for c in tgt), 2])


def collate(batch):
    src, tgt = zip(*batch)
    return pad_sequence(src, batch_first=True), pad_sequence(tgt, batch_first=True)


class Translator(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.tok = nn.Embedding(len(CHARS), d, padding_idx=0)
        self.pos = nn.Parameter(torch.randn(1, 20, d) * 0.02)
        self.transformer = nn.Transformer(d, 2, 1, 1, 64, dropout=0.1, batch_first=True)
        self.generator = nn.Linear(d, len(CHARS))

    def forward(self, src, tgt):
        s = self.tok(src) + self.pos[:, : src.size(1)]
        t = self.tok(tgt) + self.pos[:, : tgt.size(1)]
        out = self.transformer(s, t, src_key_padding_mask=src == 0, tgt_key_padding_mask=tgt == 0)  # <- AD621
        return self.generator(out)


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Translator()
    criterion = nn.CrossEntropyLoss(ignore_index=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
    for epoch in range(2):
        for src, tgt in DataLoader(Dates(), batch_size=32, shuffle=True, collate_fn=collate):
            logits = model(src, tgt[:, :-1])
            loss = criterion(logits.reshape(-1, len(CHARS)), tgt[:, 1:].reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())
