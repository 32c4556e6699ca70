import torch

torch.manual_seed(0)
u = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
lam_data = torch.nn.Parameter(torch.tensor(0.5))
lam_pde = torch.nn.Parameter(torch.tensor(0.5))
opt = torch.optim.Adam([{"params": u.parameters(), "lr": 2e-3}, {"params": [lam_data, lam_pde], "lr": 1e-2}])

t_data = torch.linspace(0, 1, 12)[:, None]
y_data = torch.exp(-2 * t_data)
for it in range(30):
    t = torch.rand(64, 1, requires_grad=True)
    y = u(t)
    dy = torch.autograd.grad(y, t, torch.ones_like(y), create_graph=True)[0]
    residual = ((dy + 2 * y) ** 2).mean()
    data = ((u(t_data) - y_data) ** 2).mean()
    start = (u(torch.zeros(1, 1)) - 1).pow(2).mean()
    loss = start + torch.sigmoid(lam_data) * data + torch.sigmoid(lam_pde) * residual  # <- AD634
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(it, loss.item(), lam_data.item(), lam_pde.item())
