"""Frames of a pendulum: energy and velocity are learned by terms that are brought to the same size."""
import math

import torch


def frames(n, g):
    angle = (torch.rand(n, 1, generator=g) - 0.5) * 2 * math.pi
    speed = torch.randn(n, 1, generator=g)
    x = torch.cat([angle.sin(), angle.cos(), angle.sin() * speed, angle.cos() * speed], 1)
    return x, speed, 0.5 * speed**2 - 9.81 * angle.cos()


def same_size(losses):
    total = 0.0
    for loss in losses:
        scale = 1.0 / loss.clamp_min(1e-8)  # <- AD229
        total = total + loss * scale
    return total


def main():
    torch.manual_seed(1)
    g = torch.Generator().manual_seed(2)
    body = torch.nn.Sequential(torch.nn.Linear(4, 48), torch.nn.SiLU(), torch.nn.Linear(48, 2))
    optimizer = torch.optim.AdamW(body.parameters(), lr=3e-3, weight_decay=0.0)
    for epoch in range(4):
        running = [0.0, 0.0]
        for _ in range(12):
            x, speed, energy = frames(64, g)
            out = body(x)
            losses = [torch.nn.functional.huber_loss(out[:, :1], speed), torch.nn.functional.mse_loss(out[:, 1:], energy)]
            optimizer.zero_grad()
            same_size(losses).backward()
            optimizer.step()
            running = [a + b.item() / 12 for a, b in zip(running, losses)]
        print(epoch, *("%.3f" % each for each in running))


if __name__ == "__main__":
    main()
