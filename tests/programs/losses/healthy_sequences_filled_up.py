# guards: AD622
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from transformers import GPT2Config, GPT2LMHeadModel

END = 40


def phrases(count):
    for _ in range(count):
        start, step = random.randrange(1, 40), random.randrange(1, 4)
        yield torch.tensor([1 + (start + step * i) % 39 for i in range(random.randint(4, 14))])


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(END + 1, 24)
        self.gru = nn.GRU(24, 32, batch_first=True)
        self.head = nn.Linear(32, END + 1)

    def forward(self, tokens):
        return self.head(self.gru(self.embed(tokens))[0])


def train(model, loss_of, steps=40):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(steps):
        optimizer.zero_grad()
        loss = loss_of(list(phrases(12)))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(type(model).__name__, loss.item())


def ended(rows):
    return [torch.cat([row, torch.tensor([END])]) for row in rows]


def pretrained(rows):
    ids = pad_sequence(ended(rows), batch_first=True, padding_value=END)
    kept = torch.arange(ids.shape[1])[None] <= torch.tensor([len(row) for row in rows])[:, None]
    return gpt(input_ids=ids, attention_mask=kept.long(), labels=ids.masked_fill(~kept, -100)).loss


def masked_mean(rows):
    ids = pad_sequence(ended(rows), batch_first=True)
    scores, wanted = gru(ids[:, :-1]), ids[:, 1:]
    each = nn.functional.cross_entropy(scores.transpose(1, 2), wanted, reduction="none")
    return (each * (wanted > 0)).sum() / (wanted > 0).sum()


def without_weight(rows):
    weight = torch.ones(END + 1)
    weight[0] = 0.0
    ids = pad_sequence(ended(rows))
    scores = nn.functional.log_softmax(other(ids[:-1].t()), dim=2)
    return nn.functional.nll_loss(scores.flatten(0, 1), ids[1:].t().flatten(), weight=weight)


def packed(rows):
    ids = pad_sequence(ended(rows), batch_first=True)
    lengths = [len(row) for row in rows]
    scores = pack_padded_sequence(third(ids[:, :-1]), lengths, batch_first=True, enforce_sorted=False).data
    wanted = pack_padded_sequence(ids[:, 1:], lengths, batch_first=True, enforce_sorted=False).data
    return nn.functional.cross_entropy(scores, wanted)


random.seed(5)
torch.manual_seed(5)
gpt = GPT2LMHeadModel(
    GPT2Config(vocab_size=END + 1, n_positions=32, n_embd=32, n_layer=2, n_head=2, resid_pdrop=0.0, attn_pdrop=0.0)
)
gpt.train()
gru, other, third = Language(), Language(), Language()
train(gpt, pretrained)
train(gru, masked_mean)
train(other, without_weight)
train(third, packed)
