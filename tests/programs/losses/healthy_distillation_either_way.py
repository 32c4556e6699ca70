# guards: AD603 AD612 AD601
"""Two students and a teacher: divergences forwards, backwards and between the students."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
T = 3.0
teacher, one, two = (nn.Sequential(nn.Linear(9, 24), nn.ReLU(), nn.Linear(24, 6)) for _ in range(3))
optimizer = torch.optim.Adam([*one.parameters(), *two.parameters()], lr=2e-3)
kl = nn.KLDivLoss(reduction="batchmean", log_target=True)
for step in range(20):
    x = torch.randn(32, 9)
    y = x[:, :6].argmax(1)
    with torch.no_grad():
        soft = F.softmax(teacher(x) / T, dim=1)
    a, b = one(x), two(x)
    forwards = F.kl_div(F.log_softmax(a / T, dim=1), soft, reduction="batchmean") * T * T
    backwards = F.kl_div(soft.log(), F.softmax(b / T, dim=1), reduction="batchmean")
    mutual = kl(F.log_softmax(a, 1), F.log_softmax(b, 1).detach()) + kl(F.log_softmax(b, 1), F.log_softmax(a, 1).detach())
    soft_targets = F.cross_entropy(a, soft) + F.binary_cross_entropy_with_logits(b, soft)
    consistency = F.mse_loss(F.softmax(a, dim=1), F.softmax(b, dim=1))
    confidence = torch.softmax(a, dim=1).max(1).values.mean()
    loss = forwards + 0.1 * backwards + mutual + soft_targets + consistency + F.cross_entropy(b, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(float(confidence), float((a.argmax(1) == y).float().mean()))
