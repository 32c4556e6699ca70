# guards: AD406 AD407 AD411
import torch
import torch.nn as nn

torch.manual_seed(44)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Deep(nn.Module):
    def __init__(self, d=32, depth=20):
        super().__init__()
        self.stem = nn.Linear(8, d)
        self.blocks = nn.ModuleList(Block(d) for _ in range(depth))
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, 3)
        for b in self.blocks:
            nn.init.zeros_(b.down.weight)
            nn.init.zeros_(b.down.bias)

    def forward(self, x):
        x = self.stem(x)
        for b in self.blocks:
            x = b(x)
        return self.head(self.norm(x))


rule = torch.randn(8, 3)


def batch(n=32):
    x = torch.randn(n, 8)
    return x, (torch.tanh(x) @ rule + x.abs()[:, :3]).argmax(1)


model = Deep()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 15))
for i in range(50):
    x, y = batch()
    out = model(x)
    loss = nn.functional.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    warm.step()
    if i % 10 == 0:
        print(i, f"{loss.item():.4f}", f"{(out.argmax(1) == y).float().mean():.2f}")
