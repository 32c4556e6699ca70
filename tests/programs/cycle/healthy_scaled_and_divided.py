# guards: AD114
"""Two tagging objectives under one loss scale: means that are divided, and a sum over tokens."""

import torch
from torch import nn

torch.manual_seed(0)
ACCUMULATE = 4


def model() -> nn.Module:
    return nn.Sequential(nn.Embedding(40, 16), nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 6))


for reduction in ("mean", "sum"):
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)
    for step in range(6):
        optimizer.zero_grad()
        batches = [torch.randint(0, 40, (8, int(length))) for length in torch.randint(5, 20, (ACCUMULATE,))]
        share = ACCUMULATE if reduction == "mean" else sum(batch.numel() for batch in batches)
        for tokens in batches:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                scores = net(tokens).flatten(0, 1)
                loss = nn.functional.cross_entropy(scores, tokens.flatten() % 6, reduction=reduction) / share
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
