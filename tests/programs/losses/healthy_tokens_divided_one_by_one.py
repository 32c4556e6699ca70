# guards: AD628
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

PAD, VOCAB = 0, 25


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 16, padding_idx=PAD)
        self.rnn = nn.GRU(16, 24, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(48, 4)
        self.length = nn.Linear(48, 1)

    def forward(self, tokens):
        h, _ = self.rnn(self.emb(tokens))
        return self.tags(h), self.length(h.mean(1)).squeeze(-1)


def batch(n=24):
    seqs = [torch.randint(1, VOCAB, (int(k),)) for k in torch.randint(5, 15, (n,))]
    tokens = pad_sequence(seqs, batch_first=True, padding_value=PAD)
    tags = (tokens % 4).masked_fill(tokens == PAD, -100)
    share_even = torch.stack([(s % 2 == 0).float().mean() for s in seqs])
    return tokens, tags, share_even


torch.manual_seed(2)
model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(45):
    tokens, tags, share = batch()
    logits, guess = model(tokens)
    num_tokens = (tags != -100).sum()
    per_token = F.cross_entropy(logits.transpose(1, 2), tags, reduction="none", ignore_index=-100)
    tag_loss = (per_token / num_tokens).sum()
    aux_loss = F.mse_loss(guess, share)
    loss = tag_loss + aux_loss
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    opt.step()
    if step % 15 == 0:
        print(step, tag_loss.item(), aux_loss.item())
