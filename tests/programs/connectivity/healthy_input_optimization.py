# guards: AD204 AD220
"""A backbone and a head, trained together; then the input itself is optimised (a fooling example)."""
import torch
import torch.nn as nn

torch.manual_seed(0)

backbone = nn.Sequential(nn.Conv1d(1, 8, 5, padding=2), nn.ReLU(), nn.AdaptiveMaxPool1d(8), nn.Flatten())
head = nn.Linear(64, 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam([*backbone.parameters(), *head.parameters()], lr=5e-3)


def batch(n=48):
    y = torch.randint(0, 2, (n,))
    t = torch.linspace(0, 1, 40)
    freq = 3.0 + 4.0 * y.unsqueeze(1)
    x = torch.sin(6.28 * (freq * t + torch.rand(n, 1))) + 0.3 * torch.randn(n, 40)
    return x.unsqueeze(1), y


for step in range(20):
    x, y = batch()
    optimizer.zero_grad()
    loss = criterion(head(backbone(x)), y)
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(f"step {step} loss {loss.item():.4f}")

for p in [*backbone.parameters(), *head.parameters()]:
    p.requires_grad_(False)
x, y = batch(1)
picture = x.clone().requires_grad_()
input_optimizer = torch.optim.Adam([picture], lr=0.05)
for step in range(8):
    input_optimizer.zero_grad()
    loss = criterion(head(backbone(picture)), 1 - y)
    loss.backward()
    input_optimizer.step()
print("fooled:", loss.item())
