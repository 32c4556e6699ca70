# guards: AD719 AD622
"""Sentence embedder from a causal model: the state at the appended <eos> (which also pads) is the
embedding; a language-model loss on the words is kept beside as GPT-1 did."""
import torch
from torch import nn
import torch.nn.functional as F

V, EOS, T = 50, 0, 16
torch.manual_seed(0)
topics = torch.softmax(3 * torch.randn(6, V - 1), 1)


class Net(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.emb = nn.Embedding(V, d)
        self.pos = nn.Embedding(T, d)
        layer = nn.TransformerEncoderLayer(d, 4, 96, 0.0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2)
        self.lm = nn.Linear(d, V)
        self.cls = nn.Linear(d, 6)

    def forward(self, input_ids, attention_mask):
        n = input_ids.shape[1]
        causal = torch.triu(torch.ones(n, n, dtype=torch.bool), 1)
        h = self.body(self.emb(input_ids) + self.pos.weight[:n], mask=causal)
        last = attention_mask.sum(1) - 1
        return self.lm(h), self.cls(h[torch.arange(len(h)), last])


def batch(n=32):
    y = torch.randint(0, 6, (n,))
    words = torch.multinomial(topics[y], T, replacement=True) + 1
    length = torch.randint(6, T + 1, (n, 1))
    pos = torch.arange(T)
    ids = words.masked_fill(pos >= length - 1, EOS)
    return ids, (pos < length).long(), y


model = Net()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    ids, mask, y = batch()
    lm, cls = model(ids, mask)
    labels = ids[:, 1:].masked_fill(ids[:, 1:] == EOS, -100)
    loss = F.cross_entropy(cls, y) + 0.5 * F.cross_entropy(lm[:, :-1].flatten(0, 1), labels.flatten())
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 20 == 0 or step == 59:
        print(step, round(loss.item(), 3), (cls.argmax(1) == y).float().mean().item())
