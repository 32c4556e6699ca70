# guards: AD216 AD303
"""Truncated backpropagation through time: the LSTM state is carried over detached, with an activation penalty in the loss."""
import torch
from torch import nn

TEXT = "the quick brown fox jumps over the lazy dog and runs away from the angry bear " * 12


class CharLM(nn.Module):
    def __init__(self, vocab, hidden=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, 24)
        self.rnn = nn.LSTM(24, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x, state=None):
        h, state = self.rnn(self.emb(x), state)
        return self.out(h), h, state


def repackage(state):
    return tuple(s.detach() for s in state)


def batchify(ids, batch):
    n = len(ids) // batch
    return ids[: n * batch].view(batch, n)


torch.manual_seed(0)
chars = sorted(set(TEXT))
data = batchify(torch.tensor([chars.index(c) for c in TEXT]), 8)
model = CharLM(len(chars))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
bptt = 16
for epoch in range(4):
    state = None
    for i in range(0, data.size(1) - 1, bptt):
        n = min(bptt, data.size(1) - 1 - i)
        if state is not None:
            state = repackage(state)
        logits, h, state = model(data[:, i:i + n], state)
        ce = nn.functional.cross_entropy(logits.flatten(0, 1), data[:, i + 1:i + 1 + n].flatten())
        ar = 0.1 * h.pow(2).mean()
        tar = 0.1 * (h[:, 1:] - h[:, :-1]).pow(2).mean() if n > 1 else 0.0
        loss = ce + ar + tar
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print("epoch", epoch, "ce", ce.item())
