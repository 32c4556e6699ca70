# guards: AD108
# keyword spotting on synthetic "log-mel" patches; SGDR with fractional epochs
import torch
import torch.nn as nn

torch.manual_seed(14)

CLASSES, MELS, FRAMES = 6, 16, 32
prototypes = torch.randn(CLASSES, MELS, FRAMES // 4).repeat_interleave(4, dim=2)


def utterances(n):
    word = torch.randint(CLASSES, (n,))
    shift = torch.randint(-3, 4, (n,)).tolist()
    gain = 0.5 + torch.rand(n, 1, 1)
    spoken = torch.stack([prototypes[w].roll(s, dims=1) for w, s in zip(word.tolist(), shift)])
    return gain * spoken + 1.5 * torch.randn(n, MELS, FRAMES), word


class Spotter(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.conv1 = nn.Conv1d(MELS, width, 5, padding=2)
        self.norm1 = nn.BatchNorm1d(width)
        self.conv2 = nn.Conv1d(width, width, 5, padding=2, stride=2)
        self.norm2 = nn.BatchNorm1d(width)
        self.out = nn.Linear(width, CLASSES)

    def forward(self, x):
        x = torch.relu(self.norm1(self.conv1(x)))
        x = torch.relu(self.norm2(self.conv2(x)))
        return self.out(x.mean(2))


train_x, train_y = utterances(960)
val_x, val_y = utterances(300)
model = Spotter()
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2, T_mult=2, eta_min=1e-3)

EPOCHS = 6  # two cycles: 2 + 4 epochs
for epoch in range(EPOCHS):
    model.train()
    batches = torch.randperm(len(train_x)).split(48)
    for i, rows in enumerate(batches):
        # the rate of this batch is that of its position in the cycle: 0, 1/20, 2/20, ...
        scheduler.step(epoch + i / len(batches))
        optimizer.zero_grad()
        loss = criterion(model(train_x[rows]), train_y[rows])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(val_x).argmax(1) == val_y).float().mean().item()
    print(f"epoch {epoch} rate {optimizer.param_groups[0]['lr']:.4f} loss {loss.item():.3f} accuracy {accuracy:.3f}")
