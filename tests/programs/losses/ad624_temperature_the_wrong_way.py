import torch
from torch import nn


class NTXent(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.register_buffer("temperature", torch.tensor(temperature))

    def forward(self, first, second):
        count = len(first)
        z = nn.functional.normalize(torch.cat([first, second]), dim=-1)
        similarity = torch.mm(z, z.T)
        similarity = similarity.mul(self.temperature)  # <- AD624
        similarity = similarity.masked_fill(torch.eye(2 * count, dtype=torch.bool), float("-inf"))
        partner = torch.arange(2 * count).roll(count)
        return nn.functional.cross_entropy(similarity, partner)


torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 16))
criterion = NTXent(0.1)
optimizer = torch.optim.AdamW(backbone.parameters(), lr=1e-3)
anchors = torch.randn(512, 12)
for epoch in range(4):
    for rows in torch.randperm(512).split(64):
        view = [anchors[rows] + 0.2 * torch.randn(len(rows), 12) for _ in range(2)]
        loss = criterion(backbone(view[0]), backbone(view[1]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
