import string

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

STOP = 0
letters = string.ascii_lowercase


def make_names(n):
    syllables = ["ka", "lo", "mi", "ren", "tu", "sha", "bel", "do", "nis"]
    picks = torch.randint(0, len(syllables), (n, 4)).tolist()
    counts = torch.randint(1, 5, (n,)).tolist()
    return ["".join(syllables[j] for j in p[:c]) for p, c in zip(picks, counts)]


def encode(name):
    return torch.tensor([letters.index(c) + 1 for c in name] + [STOP])


def collate(names):
    encoded = [encode(n) for n in names]
    lengths = torch.tensor([len(e) for e in encoded])
    batch = nn.utils.rnn.pad_sequence(encoded, batch_first=True, padding_value=STOP)
    keep = torch.arange(batch.shape[1])[None] < lengths[:, None]
    return batch, keep


class NameWriter(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.tok = nn.Embedding(27, d)
        self.pos = nn.Parameter(0.02 * torch.randn(32, d))
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.out = nn.Linear(d, 27)

    def forward(self, ids, keep):
        t = ids.shape[1]
        causal = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)
        h = self.tok(ids) + self.pos[:t]
        return self.out(self.body(h, mask=causal, src_key_padding_mask=~keep))


def main():
    torch.manual_seed(3)
    loader = DataLoader(make_names(400), batch_size=32, shuffle=True, collate_fn=collate)
    model = NameWriter()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(3):
        total = 0.0
        for ids, keep in loader:
            logits = model(ids, keep)
            loss = F.cross_entropy(logits[:, :-1].reshape(-1, 27), ids[:, 1:].reshape(-1), ignore_index=STOP)  # <- AD719
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(epoch, total / len(loader))


if __name__ == "__main__":
    main()
