# guards: AD629
import torch
from torch import nn

torch.manual_seed(0)
LATENT = 2
G = nn.Sequential(nn.Linear(LATENT, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
E = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, LATENT))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))
opt_e = torch.optim.Adam(E.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
corners = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


def real(n):
    return corners[torch.randint(0, 4, (n,))] + 0.1 * torch.randn(n, 2)


for it in range(20):
    x = real(64)
    fake = G(torch.randn(64, LATENT)).detach()
    loss_d = bce(D(x), torch.ones(64, 1)) + bce(D(fake), torch.zeros(64, 1))
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    loss_g = bce(D(G(torch.randn(64, LATENT))), torch.ones(64, 1))
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    # an encoder that finds the latent code of a sample
    z = torch.randn(64, LATENT)
    with torch.no_grad():
        sample = G(z)
    code = E(sample + 0.05 * torch.randn_like(sample))
    loss_e = nn.functional.mse_loss(code, z)
    opt_e.zero_grad()
    loss_e.backward()
    opt_e.step()
    if it % 5 == 0:
        print(f"{it}: d {loss_d.item():.3f} g {loss_g.item():.3f} e {loss_e.item():.3f}")
