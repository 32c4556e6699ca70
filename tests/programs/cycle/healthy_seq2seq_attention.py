# guards: AD105
"""Sequence to sequence with attention (sorting digits), teacher forcing and clipping."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, SOS, SEQ = 11, 10, 5


class Encoder(nn.Module):
    def __init__(self, hid):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, hid)
        self.gru = nn.GRU(hid, hid, batch_first=True)

    def forward(self, src):
        return self.gru(self.embed(src))


class AttnDecoder(nn.Module):
    def __init__(self, hid):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, hid)
        self.gru = nn.GRU(2 * hid, hid, batch_first=True)
        self.out = nn.Linear(2 * hid, VOCAB)

    def forward(self, token, hidden, memory):
        scores = torch.bmm(memory, hidden[-1].unsqueeze(2)).squeeze(2)
        context = torch.bmm(F.softmax(scores, dim=1).unsqueeze(1), memory)
        output, hidden = self.gru(torch.cat([self.embed(token), context], 2), hidden)
        return self.out(torch.cat([output, context], 2)).squeeze(1), hidden


def train_step(src, tgt, encoder, decoder, optimizer, criterion, teacher_forcing=0.5, max_norm=1.0):
    memory, hidden = encoder(src)
    token = torch.full((src.size(0), 1), SOS)
    loss = 0
    use_teacher = random.random() < teacher_forcing
    for t in range(tgt.size(1)):
        logits, hidden = decoder(token, hidden, memory)
        loss = loss + criterion(logits, tgt[:, t])
        token = tgt[:, t : t + 1] if use_teacher else logits.argmax(1, keepdim=True)
    loss = loss / tgt.size(1)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], max_norm)
    optimizer.step()
    return loss.item()


def main():
    random.seed(1)
    torch.manual_seed(1)
    encoder, decoder = Encoder(32), AttnDecoder(32)
    optimizer = torch.optim.Adam(list(encoder.parameters()) + list(decoder.parameters()), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    for it in range(1, 61):
        src = torch.randint(0, 10, (32, SEQ))
        loss = train_step(src, src.sort(1).values, encoder, decoder, optimizer, criterion)
        if it % 20 == 0:
            print(f"iter {it} loss {loss:.3f}")


if __name__ == "__main__":
    main()
