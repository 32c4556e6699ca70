# guards: AD633
"""CTGAN-style tabular WGAN-GP with packing (pac samples share one score)."""
import torch
from torch import nn
torch.manual_seed(0)
PAC, DIM, Z = 4, 6, 8

class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.pacdim = DIM * PAC
        self.seq = nn.Sequential(nn.Linear(self.pacdim, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    def calc_gradient_penalty(self, real, fake, lambda_=10):
        alpha = torch.rand(real.size(0) // PAC, 1, 1).repeat(1, PAC, real.size(1)).view(-1, real.size(1))
        inter = (alpha * real + (1 - alpha) * fake).requires_grad_()
        d = self(inter)
        gradients = torch.autograd.grad(outputs=d, inputs=inter, grad_outputs=torch.ones_like(d),
                                        create_graph=True, retain_graph=True, only_inputs=True)[0]
        gradients_view = gradients.view(-1, PAC * real.size(1)).norm(2, dim=1) - 1
        return (gradients_view ** 2).mean() * lambda_
    def forward(self, x):
        return self.seq(x.view(-1, self.pacdim))

mixing = torch.randn(3, DIM)
def sample(n):
    return torch.tanh(torch.randn(n, 3) @ mixing) + 0.5

G = nn.Sequential(nn.Linear(Z, 64), nn.ReLU(), nn.Linear(64, DIM))
D = Discriminator()
og = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.9))
od = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.9))
for step in range(70):
    for _ in range(2):
        real, fake = sample(128), G(torch.randn(128, Z)).detach()
        pen = D.calc_gradient_penalty(real, fake)
        loss_d = D(fake).mean() - D(real).mean()
        od.zero_grad()
        pen.backward()
        loss_d.backward()
        od.step()
    loss_g = -D(G(torch.randn(128, Z))).mean()
    og.zero_grad(); loss_g.backward(); og.step()
    if step % 20 == 0 or step == 69:
        with torch.no_grad():
            gap = (G(torch.randn(500, Z)).mean(0) - sample(500).mean(0)).norm()
        print(step, f"d {loss_d.item():.3f} g {loss_g.item():.3f} gp {pen.item():.3f} mean gap {gap.item():.3f}")
