"""An encoder-decoder that copies its input, with outputs written into a tensor step by step."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, HID, LEN, BATCH = 11, 24, 6, 16


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, HID)
        self.cell = nn.GRUCell(HID, HID)
        self.fc = nn.Linear(HID, VOCAB)

    def forward(self, token, hidden):
        hidden = self.cell(self.emb(token), hidden)
        return F.softmax(self.fc(hidden), dim=1), hidden  # expect: AD601


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, HID)
        self.encoder = nn.GRU(HID, HID)
        self.decoder = Decoder()

    def forward(self, src, trg):
        outputs = torch.zeros(LEN, src.shape[1], VOCAB)
        _, h = self.encoder(self.emb(src))
        h, token = h[0], trg[0]
        for t in range(1, LEN):
            outputs[t], h = self.decoder(token, h)
            token = trg[t]
        return outputs


net = Seq2Seq()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(20):
    src = torch.randint(1, VOCAB, (LEN, BATCH))
    out = net(src, src)
    loss = criterion(out[1:].reshape(-1, VOCAB), src[1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
