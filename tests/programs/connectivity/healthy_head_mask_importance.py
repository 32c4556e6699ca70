# guards: AD220
"""Attention head importance: a mask of ones collects gradients over all steps and its .grad is read after training."""
import torch
from torch import nn
import torch.nn.functional as F


class MaskedAttention(nn.Module):
    def __init__(self, dim=16, heads=4):
        super().__init__()
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.heads = heads

    def forward(self, x, head_mask):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        o = F.scaled_dot_product_attention(q, k, v) * head_mask.view(1, -1, 1, 1)
        return x + self.out(o.transpose(1, 2).reshape(b, n, d))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.attn, self.cls = nn.Embedding(20, 16), MaskedAttention(), nn.Linear(16, 2)

    def forward(self, ids, head_mask):
        return self.cls(self.attn(self.emb(ids), head_mask).mean(1))


torch.manual_seed(0)
model = Tagger()
head_mask = torch.ones(4, requires_grad=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(24):
    ids = torch.randint(0, 20, (64, 6))
    y = (ids == 7).any(1).long()
    loss = F.cross_entropy(model(ids, head_mask), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(step + 1, loss.item())
importance = head_mask.grad.abs()
print("head importance", (importance / importance.sum()).tolist())
