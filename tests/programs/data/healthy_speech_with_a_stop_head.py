# guards: AD719
"""Codec-token text-to-speech: tokens by cross entropy, the stop by a head of its own (as in Tacotron)."""
import torch
import torch.nn.functional as F
from torch import nn

SILENCE, VOCAB, T = 0, 24, 20


class Speaker(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 32)
        self.gru = nn.GRU(32, 64, batch_first=True)
        self.token = nn.Linear(64, VOCAB)
        self.stop = nn.Linear(64, 1)

    def forward(self, codes, mask):
        h, _ = self.gru(self.embed(codes) * mask[..., None])
        return self.token(h), self.stop(h).squeeze(-1)


def batch(n=32):
    start = torch.randint(1, VOCAB, (n, 1))
    codes = (start - 1 + torch.arange(T)) % (VOCAB - 1) + 1
    end = VOCAB - start.squeeze(1)  # the utterance ends when the code wraps
    end = end.clamp(3, T - 1)
    pos = torch.arange(T)
    codes = torch.where(pos < end[:, None], codes, SILENCE)
    mask = (pos <= end[:, None]).long()  # one frame of silence closes each utterance
    stop = (pos == (end - 1)[:, None]).float()
    return codes, mask, stop


torch.manual_seed(0)
model = Speaker()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(200):
    codes, mask, stop = batch()
    logits, halt = model(codes, mask)
    target = codes[:, 1:].masked_fill(codes[:, 1:] == SILENCE, -100)
    token_loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), target.flatten(), ignore_index=-100)
    voiced = mask[:, :-1].bool() & (codes[:, :-1] != SILENCE)
    stop_loss = F.binary_cross_entropy_with_logits(halt[:, :-1][voiced], stop[:, :-1][voiced])
    loss = token_loss + stop_loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0 or step == 199:
        print(step, round(token_loss.item(), 3), round(stop_loss.item(), 3))
