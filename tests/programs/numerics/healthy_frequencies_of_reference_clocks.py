# guards: AD412
"""Reference clocks of about ten megahertz are tuned by fractions of a hertz until their phases agree with the samples."""
import torch

torch.manual_seed(0)
given = 1e7 + 1e5 * torch.arange(12, dtype=torch.float64).view(3, 4)
real = given + 100 * (2 * torch.rand(3, 4, dtype=torch.float64) - 1)
clocks = given.clone().requires_grad_()
opt = torch.optim.Adam([clocks], lr=4.0)


def turns(hertz, seconds):
    count = hertz.unsqueeze(-1) * seconds
    return 6.283185307 * (count - count.detach().floor())


for step in range(60):
    seconds = 2e-3 * (torch.rand(48, dtype=torch.float64) - 0.5)
    phases = turns(real, seconds) + 0.02 * torch.randn(3, 4, 48, dtype=torch.float64)
    loss = (1 - torch.cos(turns(clocks, seconds) - phases)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), (clocks.detach() - real).abs().mean().item())
