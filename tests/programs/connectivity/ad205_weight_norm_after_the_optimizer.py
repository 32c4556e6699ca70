import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


class Vocoder(nn.Module):
    def __init__(self, channels=12):
        super().__init__()
        self.first = nn.Conv1d(1, channels, 5, padding=2)
        self.blocks = nn.ModuleList(nn.Conv1d(channels, channels, 3, padding=1) for _ in range(2))
        self.last = nn.Conv1d(channels, 1, 5, padding=2)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        for block in self.blocks:
            x = x + torch.tanh(block(x))
        return self.last(x)

    def apply_weight_norm(self):
        for module in self.modules():
            if isinstance(module, nn.Conv1d):
                weight_norm(module)


def main():
    torch.manual_seed(4)
    clean = torch.sin(torch.linspace(0, 1, 48) * (6 * torch.rand(128, 1, 1) + 1) * 6)
    noisy = clean + 0.3 * torch.randn_like(clean)
    net = Vocoder()
    optimizer = torch.optim.AdamW(net.parameters(), lr=4e-3)  # expect: AD205
    net.apply_weight_norm()
    for _ in range(6):
        for rows in torch.randperm(len(clean)).split(32):
            loss = nn.functional.l1_loss(net(noisy[rows]), clean[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(loss.item())


main()
