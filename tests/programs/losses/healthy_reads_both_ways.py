# guards: AD621
"""ELMo: a forward and a backward LSTM language model in one module, targets on either side."""
import torch
from torch import nn
import torch.nn.functional as F

V, T = 30, 12
torch.manual_seed(0)
trans = torch.softmax(3 * torch.randn(V, V), 1)


def corpus(n):
    tok = torch.randint(0, V, (n, T))
    for i in range(1, T):
        tok[:, i] = torch.multinomial(trans[tok[:, i - 1]], 1).squeeze(1)
    return tok


class BiLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(V, 32)
        self.lstm = nn.LSTM(32, 64, batch_first=True, bidirectional=True)
        self.out = nn.Linear(64, V)

    def forward(self, tokens):
        h, _ = self.lstm(self.embed(tokens))
        fwd, bwd = h.chunk(2, dim=-1)
        return self.out(fwd), self.out(bwd)


model = BiLM()
opt = torch.optim.Adam(model.parameters(), 8e-3)
for step in range(70):
    tokens = corpus(32)
    fwd, bwd = model(tokens)
    loss_f = F.cross_entropy(fwd[:, :-1].reshape(-1, V), tokens[:, 1:].reshape(-1))
    loss_b = F.cross_entropy(bwd[:, 1:].reshape(-1, V), tokens[:, :-1].reshape(-1))
    loss = (loss_f + loss_b) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0 or step == 69: print(step, round(loss_f.item(), 3), round(loss_b.item(), 3))
