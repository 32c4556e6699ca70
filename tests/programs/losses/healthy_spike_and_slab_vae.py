# guards: AD631
import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
mixing = torch.randn(4, 10)
data = (torch.randn(600, 4) * (torch.rand(600, 4) < 0.4)) @ mixing + 0.1 * torch.randn(600, 10)
encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 18))
decoder = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
prior = Normal(0.0, 1.0)
for epoch in range(6):
    for rows in torch.randperm(600).split(60):
        x = data[rows]
        mean, log_std, gate = encoder(x).chunk(3, dim=1)
        slab = Normal(mean, log_std.clamp(-4, 1).exp())
        inclusion = torch.sigmoid(gate)
        z = slab.rsample()
        reconstruction = -Normal(decoder(inclusion * z), 0.5).log_prob(x).sum(1)
        slab_kl = inclusion * (slab.log_prob(z) - prior.log_prob(z))
        on, off = inclusion.clamp(1e-5, 1 - 1e-5), 1 - inclusion.clamp(1e-5, 1 - 1e-5)
        spike_kl = on * (on / 0.4).log() + off * (off / 0.6).log()
        loss = (reconstruction + (slab_kl + spike_kl).sum(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
