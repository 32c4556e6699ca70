# guards: AD704
"""Soft prompts for a frozen language model: every text comes after the same instruction, whose ids a loader repeats in
each row; texts and answers differ."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
V, D = 30, 32
emb = nn.Embedding(V, D).requires_grad_(False)
gru = nn.GRU(D, D, batch_first=True).requires_grad_(False)
head = nn.Linear(D, V).requires_grad_(False)
soft = nn.Parameter(0.1 * torch.randn(4, D))
adapter = nn.Linear(D, V)
instruction = torch.tensor([3, 7, 7, 1]).expand(256, 4)
body = torch.randint(10, 20, (256, 5))
answer = 20 + body.sum(1) % 3
loader = DataLoader(TensorDataset(instruction, body, answer), batch_size=32, shuffle=True)
opt = torch.optim.AdamW([soft, *adapter.parameters()], lr=1e-2)
for epoch in range(10):
    for ins, text, ans in loader:
        x = torch.cat([soft.expand(len(ins), -1, -1), emb(ins), emb(text)], 1)
        h = gru(x)[0][:, -1]
        loss = F.cross_entropy(head(h) + adapter(h), ans)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 3 == 2:
        print(epoch, loss.item())
