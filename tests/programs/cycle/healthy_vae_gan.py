# guards: AD102 AD304
"""VAE-GAN (Larsen): one forward, three optimizers, retain_graph, inputs=, updates at the end."""

import torch
from torch import nn

torch.manual_seed(0)
enc, dec, dis = nn.Linear(6, 8), nn.Linear(4, 6), nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
oe, od, oc = (torch.optim.RMSprop(m.parameters(), 1e-3) for m in (enc, dec, dis))
bce = nn.functional.binary_cross_entropy_with_logits
for i in range(8):
    x = torch.randn(12, 6)
    mu, lv = enc(x).chunk(2, 1)
    z = mu + torch.randn_like(mu) * (lv / 2).exp()
    rec = dec(z)
    kl = -0.5 * (1 + lv - mu**2 - lv.exp()).mean()
    feat = (dis[0](rec) - dis[0](x)).pow(2).mean()
    adv = bce(dis(x), torch.ones(12, 1)) + bce(dis(rec), torch.zeros(12, 1))
    for o in (oe, od, oc):
        o.zero_grad()
    (kl + feat).backward(retain_graph=True, inputs=list(enc.parameters()))
    (0.1 * feat - adv).backward(retain_graph=True, inputs=list(dec.parameters()))
    adv.backward(inputs=list(dis.parameters()))
    for o in (oe, od, oc):
        o.step()
