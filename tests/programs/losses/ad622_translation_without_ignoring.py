import random

import torch
import torch.nn as nn

BOS, EOS, BLANK, WORDS = 0, 1, 2, 24


class Seq2Seq(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.src_emb = nn.Embedding(WORDS, d)
        self.tgt_emb = nn.Embedding(WORDS, d)
        self.encoder = nn.GRU(d, d, batch_first=True)
        self.decoder = nn.GRU(d, d, batch_first=True)
        self.generator = nn.Linear(d, WORDS)

    def forward(self, src, tgt):
        _, h = self.encoder(self.src_emb(src))
        out, _ = self.decoder(self.tgt_emb(tgt), h)
        return self.generator(out)


def fill(rows):
    width = max(len(r) for r in rows)
    return torch.LongTensor([r + [BLANK] * (width - len(r)) for r in rows])


def pairs(n):
    for _ in range(n):
        words = [random.randrange(3, WORDS) for _ in range(random.randint(2, 9))]
        yield words, [BOS, *reversed(words), EOS]


class Trainer:
    def __init__(self):
        self.net = Seq2Seq()
        self.criterion = nn.CrossEntropyLoss()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=3e-3)

    def loss(self, logits, gold):
        return self.criterion(logits.permute(0, 2, 1), gold)  # <- AD622

    def fit(self, steps):
        for step in range(steps):
            src, tgt = zip(*pairs(20), strict=True)
            src, tgt = fill(src), fill(tgt)
            self.opt.zero_grad()
            loss = self.loss(self.net(src, tgt[:, :-1]), tgt[:, 1:])
            loss.backward()
            nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
            self.opt.step()
            if step % 20 == 0:
                print(step, loss.item())


random.seed(0)
torch.manual_seed(0)
Trainer().fit(80)
