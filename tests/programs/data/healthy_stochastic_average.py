# guards: AD710 AD120
import torch
import torch.nn.functional as F
from torch.optim.swa_utils import SWALR, AveragedModel


class Block(torch.nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.conv = torch.nn.Conv1d(before, after, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm1d(after)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(Block(2, 12), Block(12, 12))
        self.out = torch.nn.Linear(12, 3)

    def forward(self, x):
        return self.out(self.body(x).mean(-1))


def signals(count):
    kind = torch.randint(0, 3, (count,))
    time = torch.linspace(0, 6.28, 40)
    wave = torch.sin(time * (kind[:, None] + 1.0))
    return torch.stack([wave, wave.roll(5, 1)], 1) + 0.3 * torch.randn(count, 2, 40) + 1.5, kind


def main():
    torch.manual_seed(11)
    model = Classifier()
    average = AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = SWALR(optimizer, swa_lr=0.02, anneal_epochs=2)
    held_out = signals(60)
    for epoch in range(6):
        model.train()
        for _ in range(6):
            x, y = signals(32)
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        average.update_parameters(model)
        schedule.step()
    torch.optim.swa_utils.update_bn([signals(32)[0] for _ in range(4)], average)
    average.eval()
    with torch.inference_mode():
        print("accuracy", (average(held_out[0]).argmax(1) == held_out[1]).float().mean().item())


if __name__ == "__main__":
    main()
