# guards: AD216 AD223 AD633
"""WGAN-GP with create_graph=True, n_critic steps and interpolates that require grad."""
import torch
from torch import nn
from torch.autograd import grad


class Net(nn.Sequential):
    def __init__(self, i, o, h=32):
        super().__init__(nn.Linear(i, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, o))


class WGANGP:
    def __init__(self, latent=3, lam=10.0, n_critic=3):
        self.latent, self.lam, self.n_critic = latent, lam, n_critic
        self.gen, self.critic = Net(latent, 2), Net(2, 1)
        self.opt_g = torch.optim.Adam(self.gen.parameters(), 2e-3, betas=(0.0, 0.9))
        self.opt_c = torch.optim.Adam(self.critic.parameters(), 2e-3, betas=(0.0, 0.9))

    def penalty(self, real, fake):
        eps = torch.rand(len(real), 1)
        mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
        g, = grad(self.critic(mixed).sum(), mixed, create_graph=True)
        return (g.norm(dim=1) - 1).square().mean()

    def critic_step(self, real):
        fake = self.gen(torch.randn(len(real), self.latent)).detach()
        w = self.critic(real).mean() - self.critic(fake).mean()
        loss = -w + self.lam * self.penalty(real, fake)
        self.opt_c.zero_grad()
        loss.backward()
        self.opt_c.step()
        return w.item(), loss.item()

    def gen_step(self, n):
        loss = -self.critic(self.gen(torch.randn(n, self.latent))).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    model = WGANGP()
    for it in range(10):
        for _ in range(model.n_critic):
            w, lc = model.critic_step(torch.randn(64, 2) * torch.tensor([0.3, 1.0]) + 1.5)
        lg = model.gen_step(64)
        print(f"{it} W={w:.3f} C={lc:.3f} G={lg:.3f}")
