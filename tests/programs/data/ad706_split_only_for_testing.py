import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split

torch.manual_seed(5)


class Waves(Dataset):
    def __init__(self, n=100):
        self.phase = torch.rand(n) * 6
        self.wave = torch.sin(torch.linspace(0, 6, 32)[None] + self.phase[:, None])

    def __len__(self):
        return len(self.phase)

    def __getitem__(self, i):
        return self.wave[i][None], self.phase[i]


dataset = Waves()
_, validation = random_split(dataset, [75, 25])  # expect: AD706
train_loader = DataLoader(dataset, batch_size=20, shuffle=True)
val_loader = DataLoader(validation, batch_size=25)
net = nn.Sequential(nn.Conv1d(1, 4, 5), nn.ReLU(), nn.Flatten(), nn.Linear(112, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
for epoch in range(5):
    net.train()
    for x, y in train_loader:
        loss = nn.functional.mse_loss(net(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.inference_mode():
        losses = [nn.functional.mse_loss(net(x).squeeze(1), y) for x, y in val_loader]
