# guards: AD610
#!/usr/bin/env python
"""Plankton counts from holographic frames; decoded straight into one staging buffer, gradients accumulated."""

import argparse

import numpy as np
import torch
from torch import nn


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--updates", type=int, default=90)
    p.add_argument("--micro", type=int, default=12, help="frames per micro-batch")
    p.add_argument("--accumulate", type=int, default=6)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=11)
    return p.parse_args()


class Decoder:
    """Stands for a camera SDK: every call decodes into the caller's memory."""

    def __init__(self, side, seed):
        self.rng = np.random.default_rng(seed)
        yy, xx = np.mgrid[:side, :side]
        self.grid, self.side = (yy, xx), side

    def decode_into(self, out):
        counts = self.rng.integers(0, 6, len(out))
        out[...] = 0.1 * self.rng.normal(size=out.shape)
        for frame, n in zip(out, counts):
            for cy, cx in self.rng.uniform(2, self.side - 3, (n, 2)):
                frame[0] += np.exp(-((self.grid[0] - cy) ** 2 + (self.grid[1] - cx) ** 2) / 2)
        return counts.astype(np.float32)


def build():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 1, 1),
        nn.Flatten(),
        nn.Linear(256, 1),
    )


def main():
    args = parse()
    torch.manual_seed(args.seed)
    staging = np.empty((args.micro, 1, 16, 16), np.float32)
    train, held_out = Decoder(16, args.seed), Decoder(16, args.seed + 1)
    test_frames = np.empty((128, 1, 16, 16), np.float32)
    test_counts = torch.from_numpy(held_out.decode_into(test_frames))
    test_frames = torch.from_numpy(test_frames)

    model = build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.updates)
    for update in range(1, args.updates + 1):
        optimizer.zero_grad()
        total = 0.0
        for _ in range(args.accumulate):
            counts = torch.from_numpy(train.decode_into(staging))
            frames = torch.from_numpy(staging)
            # backward is done before the decoder gets the buffer again
            loss = nn.functional.smooth_l1_loss(model(frames).squeeze(1), counts) / args.accumulate
            loss.backward()
            total += loss.item()
        optimizer.step()
        schedule.step()
        if update % 30 == 0:
            model.eval()
            with torch.inference_mode():
                error = (model(test_frames).squeeze(1) - test_counts).abs().mean().item()
            model.train()
            print(f"update {update:4d}  train {total:.3f}  mean absolute error {error:.3f}")


if __name__ == "__main__":
    main()
