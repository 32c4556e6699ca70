"""Network fitted to du/dt = cos t: the residual comes from autograd.grad without create_graph (AD216)."""
import math
import torch

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

u_net = torch.nn.Sequential(
    torch.nn.Linear(1, 20), torch.nn.Tanh(),
    torch.nn.Linear(20, 20), torch.nn.Tanh(),
    torch.nn.Linear(20, 1),
)

# noisy sensors
t_obs = torch.linspace(0, 2 * math.pi, 12).unsqueeze(1)
u_obs = torch.sin(t_obs) + 0.05 * torch.randn_like(t_obs)


def physics_residual(n=64):
    t = (2 * math.pi * torch.rand(n, 1)).requires_grad_()
    u = u_net(t)
    du_dt = torch.autograd.grad(u, t, grad_outputs=torch.ones_like(u))[0]
    return du_dt - torch.cos(t)


optim = torch.optim.Adam(u_net.parameters(), lr=1e-2)
for k in range(40):
    loss_data = ((u_net(t_obs) - u_obs) ** 2).mean()
    loss_pde = physics_residual().square().mean()
    loss = loss_data + 0.1 * loss_pde  # expect: AD216
    optim.zero_grad()
    loss.backward()
    optim.step()
    if k % 13 == 0:
        print(k, loss_data.item(), loss_pde.item())
