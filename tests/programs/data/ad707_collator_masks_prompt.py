"""Fine-tune a tiny causal model on instructions, with a collator that hides the prompt from the loss."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

PAD, IGNORE = 0, -100


class Collator:
    def __init__(self, prompt_ends_with):
        self.marker = prompt_ends_with

    def __call__(self, rows):
        tokens = torch.stack(rows)
        labels = tokens.clone()
        for row, line in zip(labels, tokens, strict=True):
            found = (line == self.marker).nonzero().flatten()
            end = int(found[-1]) + 1 if len(found) else len(line)
            row[:end] = IGNORE
        return {"input_ids": tokens, "labels": labels}


class Causal(nn.Module):
    def __init__(self, vocabulary=40, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.mix = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, input_ids, labels=None):
        logits = self.head(self.mix(self.embed(input_ids))[0])
        loss = None
        if labels is not None:
            shifted, goal = logits[:, :-1], labels[:, 1:]
            loss = F.cross_entropy(shifted.reshape(-1, 40), goal.reshape(-1), reduction="sum")  # expect: AD707
        return loss, logits


torch.manual_seed(0)
rows = [torch.randint(3, 40, (10,)) for _ in range(60)]
for row in rows:
    row[4] = 1
model = Causal()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for batch in DataLoader(rows, batch_size=6, shuffle=True, collate_fn=Collator(prompt_ends_with=2)):
    loss, _ = model(**batch)
    opt.zero_grad()
    loss.backward()
    opt.step()
