# guards: AD410 AD411 AD407
# LoRA and a bottleneck adapter on a frozen backbone
import torch
import torch.nn as nn

torch.manual_seed(62)


class LoRA(nn.Module):
    def __init__(self, base, rank=4, alpha=8.0):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.down.t() @ self.up.t())


class Adapter(nn.Module):
    def __init__(self, d, r=4):
        super().__init__()
        self.d, self.u = nn.Linear(d, r), nn.Linear(r, d)
        nn.init.zeros_(self.u.weight)
        nn.init.zeros_(self.u.bias)

    def forward(self, h):
        return h + self.u(torch.tanh(self.d(h)))


base = nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 6))
shift = torch.randn(6, 12) * 0.5
model = nn.Sequential(LoRA(base[0]), base[1], Adapter(32), LoRA(base[2]))
train = [p for p in model.parameters() if p.requires_grad]
opt = torch.optim.AdamW(train, lr=1e-2, weight_decay=0.0)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, s / 20 + 1e-4))
for step in range(250):
    x = torch.randn(64, 12)
    with torch.no_grad():
        y = base(x) + torch.tanh(x) @ shift.t()
    loss = (model(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 25 == 0:
        print(step, f"{loss.item():.5f}")
