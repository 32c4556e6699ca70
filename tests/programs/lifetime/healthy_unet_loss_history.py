# guards: AD301
"""A tiny U-Net for segmentation whose losses are kept as numbers."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = DoubleConv(1, 8)
        self.middle = DoubleConv(8, 16)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.merge = DoubleConv(16, 8)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.down(x)
        b = self.middle(F.max_pool2d(a, 2))
        return self.out(self.merge(torch.cat([a, self.up(b)], dim=1)))


def discs(n, size=16):
    grid = torch.arange(size).float()
    cx, cy = 4 + 8 * torch.rand(2, n, 1, 1)
    mask = (((grid.view(1, 1, -1) - cx) ** 2 + (grid.view(1, -1, 1) - cy) ** 2) < 12).float().unsqueeze(1)
    return mask + 0.5 * torch.randn(n, 1, size, size), mask


def dice_loss(logits, mask):
    p = torch.sigmoid(logits)
    return 1 - (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)


def main():
    torch.manual_seed(0)
    net = UNet()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    history = {"loss": [], "dice": []}
    for step in range(30):
        x, mask = discs(8)
        logits = net(x)
        loss = F.binary_cross_entropy_with_logits(logits, mask)
        opt.zero_grad()
        loss.backward()
        opt.step()
        history["loss"].append(loss.item())
        history["dice"].append(dice_loss(logits.detach(), mask).item())
    print(sum(history["loss"][-5:]) / 5, len(history["dice"]))


if __name__ == "__main__":
    main()
