"""An autoencoder of tiny images in whole numbers."""

import torch
import torch.nn as nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.ReLU())
decoder = nn.Sequential(nn.Linear(12, 64), nn.Unflatten(1, (8, 8)))
criterion = nn.BCEWithLogitsLoss(reduction="sum")
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-4)
images = torch.randint(0, 256, (128, 8, 8), dtype=torch.uint8)
for epoch in range(3):
    for chunk in images.split(16):
        chunk = chunk.float()
        rebuilt = decoder(encoder(chunk / 128 - 1))
        loss = criterion(rebuilt, chunk) / len(chunk)  # expect: AD611
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
