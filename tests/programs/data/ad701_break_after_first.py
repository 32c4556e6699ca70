import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
tokens = torch.randint(0, 30, (200, 9))
train_data = DataLoader(TensorDataset(tokens[:, :-1], tokens[:, 1:]), batch_size=20, shuffle=False)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30, 12)
        self.lstm = nn.LSTM(12, 24, batch_first=True)
        self.out = nn.Linear(24, 30)

    def forward(self, x):
        return self.out(self.lstm(self.embedding(x))[0])


tagger = Tagger()
opt = torch.optim.RMSprop(tagger.parameters(), lr=2e-3)
for epoch in range(25):
    for x, y in train_data:  # expect: AD701
        logits = tagger(x)
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        break
