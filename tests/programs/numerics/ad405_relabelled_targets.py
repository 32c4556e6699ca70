import torch
import torch.nn.functional as F

torch.manual_seed(54)
states = torch.randn(256, 4)
rewards = torch.rand(256)
successor = torch.randperm(256)
targets = rewards.clone()
q = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
opt = torch.optim.Adam(q.parameters(), lr=3e-4)
for it in range(60):
    targets[:] = rewards + 1.3 * targets[successor]  # expect: AD405
    pick = torch.randint(0, 256, (64,))
    loss = F.mse_loss(q(states[pick]).squeeze(-1), targets[pick])
    opt.zero_grad()
    loss.backward()
    opt.step()
