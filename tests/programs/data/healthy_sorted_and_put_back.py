# guards: AD708 AD608
# hinted: AD608
"""Ways with a batch that is sorted for a moment: what comes of it is put back, or both sides go through the same order."""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
length = torch.randint(3, 13, (640,))
x = torch.randn(640, 12, 4) * (torch.arange(12) < length[:, None])[..., None]
when = x.sum((1, 2)).neg().exp() + 0.1
seen = (torch.rand(640) < 0.7).float()


class Encoder(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.how = how
        self.rnn, self.out = nn.GRU(4, 16, batch_first=True), nn.Linear(16, 1)

    def forward(self, x, length):
        ordered, order = length.sort(descending=True)
        last = self.rnn(pack_padded_sequence(x[order], ordered, batch_first=True))[1][-1]
        if self.how == "argsort":
            last = last[order.argsort()]
        elif self.how == "inverse":
            inverse = torch.empty_like(order)
            inverse[order] = torch.arange(len(order))
            last = last[inverse]
        elif self.how == "copied":
            last = torch.zeros_like(last).index_copy(0, order, last)
        else:
            return self.out(last)[:, 0], order
        return self.out(last)[:, 0]


def hazards(risk, when, seen):
    order = when.argsort(descending=True)
    sets = torch.logcumsumexp(risk[order], 0)[order.argsort()]
    return ((sets - risk) * seen).sum() / seen.sum()


def ranking(risk, when, seen):
    relevant_first = when.argsort()
    risk = risk[relevant_first]
    return (risk.flip(0).logcumsumexp(0).flip(0) - risk).mean()


def in_pairs(risk, when, seen):
    other = torch.rand(len(risk)).argsort()
    return ((risk - risk[other]) + (when.log() - when.log()[other])).square().mean()


def as_distributions(risk, when, seen):
    return (risk.sort().values + when.log().sort(descending=True).values).square().mean()


for how, loss_of in (("argsort", hazards), ("inverse", ranking), ("copied", in_pairs), ("", as_distributions)):
    model = Encoder(how)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for a, b, c, d in DataLoader(TensorDataset(x, length, when, seen), batch_size=80, shuffle=True):
        risk = model(a, b)
        if not how:
            risk, order = risk
            c, d = c[order], d[order]
        loss = loss_of(risk, c, d)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(how, loss.item())
