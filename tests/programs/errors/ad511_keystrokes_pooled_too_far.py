"""Numbers that are typed, read off a strip of pressure: an encoder with two strides and CTC."""
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(3)
KEYS = 10
shapes = torch.randn(KEYS + 1, 6)


def strip():
    keys = torch.randint(1, KEYS + 1, (int(torch.randint(3, 9, ())),))
    spans = torch.randint(3, 6, keys.shape)
    frames = torch.repeat_interleave(shapes[keys], spans, dim=0)
    return frames + 0.1 * torch.randn_like(frames), keys


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(
            nn.Conv1d(6, 32, 3, stride=2, padding=1), nn.ReLU(), nn.Conv1d(32, 32, 3, stride=2, padding=1), nn.ReLU()
        )
        self.head = nn.Linear(32, KEYS + 1)

    def forward(self, x):
        return self.head(self.encode(x.transpose(1, 2)).permute(2, 0, 1)).log_softmax(-1)


reader = Reader()
criterion = nn.CTCLoss(blank=0, zero_infinity=True)
opt = torch.optim.Adam(reader.parameters(), lr=3e-3)
for step in range(40):
    frames, keys = zip(*(strip() for _ in range(24)))
    lengths = torch.tensor([len(each) for each in frames])
    scores = reader(pad_sequence(frames, batch_first=True))
    loss = criterion(scores, torch.cat(keys), (lengths + 3) // 4, torch.tensor([len(k) for k in keys]))  # <- AD511
    opt.zero_grad()
    loss.backward()
    opt.step()
