# guards: AD410 AD412
import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(88)
acc = Accelerator(cpu=True, gradient_accumulation_steps=2)


class Embedder(nn.Module):
    """reviews of a small corpus"""

    def __init__(self, v=500, d=16):
        super().__init__()
        self.e = nn.EmbeddingBag(v, d)
        self.f = nn.Linear(d, 3)

    def forward(self, x):
        return self.f(self.e(x))


tok = torch.randint(0, 90, (800, 8))
y = (tok // 30).float().mean(1).sub(0.5).clamp(0, 2.49).long().clamp(max=2)
loader = DataLoader(TensorDataset(tok, y), batch_size=40, shuffle=True)
model = Embedder()
opt = torch.optim.AdamW(model.parameters(), lr=3e-2)
total = 8 * len(loader)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: max(1e-4, s / 15) if s < 15 else max(0.05, 1 - s / total))
model, opt, loader, sched = acc.prepare(model, opt, loader, sched)
for epoch in range(8):
    hit = 0
    for xb, yb in loader:
        with acc.accumulate(model):
            z = model(xb)
            loss = nn.functional.cross_entropy(z, yb)
            acc.backward(loss)
            if acc.sync_gradients:
                acc.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
        hit += (z.argmax(1) == yb).sum().item()
    acc.print(epoch, f"{loss.item():.4f} {hit / 800:.3f} lr {sched.get_last_lr()[0]:.4f}")
