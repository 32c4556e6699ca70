"""Walking or standing, by an accelerometer: windows of one recording, which overlap by three quarters."""

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, random_split


class Recording(Dataset):
    """One long recording; each item shows two seconds of it, and what was done at its end."""

    def __init__(self, moments: int, width: int = 32, stride: int = 8) -> None:
        generator = torch.Generator().manual_seed(11)
        self.doing = (torch.arange(moments) // 150) % 2
        swing = torch.sin(torch.arange(moments) / 2.7) * self.doing
        self.felt = torch.randn(3, moments, generator=generator) * 0.4 + swing
        self.width, self.stride = width, stride

    def __len__(self) -> int:
        return (self.felt.shape[1] - self.width) // self.stride

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        begin = index * self.stride
        end = begin + self.width
        return {"felt": self.felt[:, begin:end], "doing": self.doing[end - 1]}


def accuracy(net: nn.Module, loader: DataLoader) -> float:
    net.eval()
    right = total = 0
    with torch.inference_mode():
        for batch in loader:
            right += int((net(batch["felt"]).argmax(1) == batch["doing"]).sum())
            total += len(batch["doing"])
    return right / total


torch.manual_seed(1)
recording = Recording(2400)
known, unknown = random_split(recording, [236, 60])  # <- AD706
net = nn.Sequential(nn.Flatten(), nn.Linear(96, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
known_batches = DataLoader(known, batch_size=32, shuffle=True)
unknown_batches = DataLoader(unknown, batch_size=60)
for epoch in range(4):
    net.train()
    for batch in known_batches:
        loss = nn.functional.cross_entropy(net(batch["felt"]), batch["doing"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{accuracy(net, unknown_batches):.3f}")
