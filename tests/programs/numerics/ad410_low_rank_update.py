# Low-rank update on top of a frozen linear map
import torch
import torch.nn as nn

torch.manual_seed(61)


class Adapted(nn.Module):
    def __init__(self, base, rank=4, alpha=8.0):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad_(False)
        self.down = nn.Parameter(torch.zeros(rank, base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.down.t() @ self.up.t())  # expect: AD410


base = nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 6))
shift = torch.randn(6, 12) * 0.5
model = nn.Sequential(Adapted(base[0]), base[1], Adapted(base[2]))
train = [p for p in model.parameters() if p.requires_grad]
print("trainable", sum(p.numel() for p in train))
opt = torch.optim.AdamW(train, lr=5e-3, weight_decay=0.0)
for step in range(150):
    x = torch.randn(64, 12)
    with torch.no_grad():
        y = base(x) + torch.tanh(x) @ shift.t()
    loss = (model(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 15 == 0:
        print(step, f"{loss.item():.5f}")
