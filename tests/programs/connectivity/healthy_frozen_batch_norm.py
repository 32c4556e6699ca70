# guards: AD210 AD214
"""Fine-tuning with frozen batch-norm: statistics in eval mode and its weights fixed, all else in training mode."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(16)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        return F.relu(self.bn2(self.conv2(x))).mean(dim=(2, 3))


class FineTuner(nn.Module):
    def __init__(self, backbone, classes=3):
        super().__init__()
        self.backbone = backbone
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(16, classes)

    def train(self, mode=True):
        super().train(mode)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()
                module.requires_grad_(False)
        return self

    def forward(self, x):
        return self.head(self.dropout(self.backbone(x)))


def load_pretrained():
    """Weights as they might come from disk, ready for inference."""
    torch.manual_seed(1)
    return FineTuner(Backbone())


def batch(n=32):
    y = torch.randint(0, 3, (n,))
    x = 0.5 * torch.randn(n, 1, 10, 10)
    x[torch.arange(n), 0, 3 * y + 1] += 2.0
    return x, y


def main():
    model = load_pretrained()
    model.train()
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(params, lr=5e-3)
    for step in range(30):
        x, y = batch()
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, loss.item())


main()
