# guards: AD701 AD611
"""Three small studies of one table: chunk by chunk, all rows at once, and with labels that were reported wrongly."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(6)
ROWS, CHUNK = 400, 50
sensors = torch.randn(ROWS, 6)
kind = sensors[:, :3].argmax(1)
table = torch.cat([sensors.sum(1, keepdim=True) + 0.1 * torch.randn(ROWS, 1), sensors], dim=1)

chunked = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(chunked.parameters(), lr=0.01)
for low in [*range(0, ROWS, CHUNK)] * 2:
    part = table[low : low + CHUNK]
    loss = F.mse_loss(chunked(part[:, 1:])[:, 0], part[:, 0])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

whole = nn.Linear(6, 1)
optimizer = torch.optim.Adam(whole.parameters(), lr=0.05)
for _ in range(8):
    loss = F.mse_loss(whole(table[:, 1:])[:, 0], table[:, 0])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

wrong = torch.full((3, 3), 0.15).fill_diagonal_(0.7)
reported = torch.multinomial(wrong[kind], 1)[:, 0]
unbiased = torch.linalg.inv(wrong)[reported]
classifier = nn.Linear(6, 3)
optimizer = torch.optim.AdamW(classifier.parameters(), lr=0.02, weight_decay=0.05)
for rows in torch.randperm(ROWS).split(CHUNK):
    loss = F.cross_entropy(classifier(sensors[rows]), unbiased[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
