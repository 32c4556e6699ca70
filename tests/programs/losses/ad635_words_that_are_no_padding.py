"""Tagger, 2-D padding mask as int on both sides."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
B, T, C = 12, 10, 4
model = nn.Sequential(nn.Embedding(30, 16), nn.Linear(16, C))
opt = torch.optim.Adam(model.parameters(), 1e-2)
for step in range(60):
    words = torch.randint(1, 30, (B, T))
    words[torch.arange(T) >= torch.randint(4, T, (B, 1))] = 0
    tags = words % C
    mask = (words != 0).int()
    logits = model(words)
    loss = F.cross_entropy(logits[mask].reshape(-1, C), tags[mask].reshape(-1))  # expect: AD635
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
