"""Per-sample loss vector with a confidence penalty made from `probs.detach()` and added sample by sample (AD216)."""
import torch
from torch import nn

torch.manual_seed(0)
vocab, seq, classes = 30, 7, 5


class BagOfWords(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(vocab, 16)
        self.head = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, classes))

    def forward(self, tokens):
        return self.head(self.emb(tokens).mean(1))


tokens = torch.randint(0, vocab, (400, seq))
labels = (tokens.sum(1) // 25).clamp(max=classes - 1)
sample_weight = torch.where(labels == 0, 2.0, 1.0)

model = BagOfWords()
opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-4)
ce = nn.CrossEntropyLoss(reduction='none')
losses = []
for epoch in range(6):
    perm = torch.randperm(len(tokens))
    for chunk in perm.split(80):
        logits = model(tokens[chunk])
        probs = logits.softmax(-1).detach()
        neg_entropy = (probs * probs.clamp_min(1e-8).log()).sum(-1)
        per_sample = ce(logits, labels[chunk])
        per_sample = per_sample + 0.1 * neg_entropy  # expect: AD216
        loss = (sample_weight[chunk] * per_sample).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        losses.append(loss.item())
    print(epoch, sum(losses[-5:]) / 5)
