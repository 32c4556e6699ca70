# guards: AD621
"""Genotype denoising autoencoder. Real missing calls (3) have no truth and do not count; the model itself drops whole
positions at random (in embedding space) and must give every observed call back from its neighbours."""
import torch
from torch import nn
import torch.nn.functional as F

SITES, MISSING = 24, 3
torch.manual_seed(0)
haplotypes = torch.randint(0, 2, (6, SITES))


def people(n):
    g = haplotypes[torch.randint(0, 6, (n,))] + haplotypes[torch.randint(0, 6, (n,))]
    gone = torch.rand(n, SITES) < 0.1
    return g.masked_fill(gone, MISSING)


class Imputer(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb = nn.Embedding(4, d)
        self.site = nn.Parameter(0.5 * torch.randn(SITES, d))
        layer = nn.TransformerEncoderLayer(d, 4, 64, 0.0, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(d, 3)

    def forward(self, calls):
        e = self.emb(calls)
        if self.training:
            e = e * (torch.rand(calls.shape) > 0.4).unsqueeze(-1)
        return self.head(self.enc(e + self.site))


net = Imputer()
opt = torch.optim.Adam(net.parameters(), 4e-3)
for step in range(80):
    calls = people(48)
    labels = calls.masked_fill(calls == MISSING, -100)
    loss = F.cross_entropy(net(calls).flatten(0, 1), labels.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0 or step == 79: print(step, round(loss.item(), 3))
