# guards: AD631
import torch
from torch import nn
from torch.distributions import Categorical, Normal, kl_divergence

torch.manual_seed(0)
centers = torch.randn(3, 8) * 2
data = centers[torch.randint(0, 3, (600,))] + 0.3 * torch.randn(600, 8)


class VaDE(nn.Module):
    def __init__(self, clusters=3, latent=2):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.mean, self.log_std = nn.Linear(32, latent), nn.Linear(32, latent)
        self.assign = nn.Linear(32, clusters)
        self.decoder = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, 8))
        self.prior_means = nn.Parameter(torch.randn(clusters, latent))
        self.prior_log_std = nn.Parameter(torch.zeros(clusters, latent))

    def loss(self, x):
        hidden = self.encoder(x)
        q_z = Normal(self.mean(hidden), self.log_std(hidden).clamp(-5, 2).exp())
        q_c = Categorical(logits=self.assign(hidden))
        z = q_z.rsample()
        reconstruction = Normal(self.decoder(z), 0.5).log_prob(x).sum(1)
        prior = Normal(self.prior_means, self.prior_log_std.exp())
        by_cluster = prior.log_prob(z[:, None, :]).sum(2)
        expected_prior = (q_c.probs * by_cluster).sum(1)
        uniform = Categorical(logits=torch.zeros_like(q_c.logits))
        elbo = reconstruction + expected_prior + q_z.entropy().sum(1) - kl_divergence(q_c, uniform)
        return -elbo.mean()


model = VaDE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    for rows in torch.randperm(600).split(60):
        loss = model.loss(data[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, float(loss))
