# guards: AD216 AD707
"""FixMatch: pseudo-labels from the weak view, a confidence mask, and an unlabelled loss that may be zero at first."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4)
scheduler = LambdaLR(optimizer, lambda k: max(0.1, 1 - k / 50))
means = 1.5 * torch.randn(4, 10)
threshold, lambda_u = 0.95, 1.0

for step in range(40):
    y_x = torch.randint(0, 4, (16,))
    x = means[y_x] + torch.randn(16, 10)
    u = means[torch.randint(0, 4, (64,))] + torch.randn(64, 10)
    u_w, u_s = u + 0.05 * torch.randn_like(u), u * (torch.rand_like(u) > 0.2)
    logits = net(torch.cat((x, u_w, u_s)))
    logits_x, logits_w, logits_s = logits.split([16, 64, 64])

    Lx = F.cross_entropy(logits_x, y_x)
    pseudo = torch.softmax(logits_w.detach(), dim=-1)
    max_probs, targets_u = pseudo.max(dim=-1)
    mask = max_probs.ge(threshold).float()
    Lu = (F.cross_entropy(logits_s, targets_u, reduction="none") * mask).mean()
    loss = Lx + lambda_u * Lu

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 10 == 0:
        print(f"{step}: Lx {Lx.item():.3f} Lu {Lu.item():.3f} mask {mask.mean().item():.2f}")
