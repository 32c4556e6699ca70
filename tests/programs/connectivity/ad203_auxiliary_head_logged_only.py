"""Depth from features with an auxiliary head for edges, whose loss is shown beside the main one."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class DepthNet(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1))
        self.depth = nn.Conv2d(width, 1, 1)
        self.edges = nn.Conv2d(width, 1, 1)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        features = torch.relu(self.trunk(image))
        return self.depth(features), self.edges(features)


def main() -> None:
    torch.manual_seed(2)
    net = DepthNet()
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)  # expect: AD203
    for step in range(16):
        image = torch.rand(6, 1, 10, 10)
        wanted = image.cumsum(3) / 10
        is_edge = (image > 0.8).float()
        depth, edges = net(image)
        depth_loss = nn.functional.l1_loss(depth, wanted)
        edge_loss = nn.functional.binary_cross_entropy_with_logits(edges, is_edge)
        optimizer.zero_grad()
        depth_loss.backward()
        optimizer.step()
        print(f"{step:3d} depth {depth_loss.item():.3f} edges {edge_loss.item():.3f}")


if __name__ == "__main__":
    main()
