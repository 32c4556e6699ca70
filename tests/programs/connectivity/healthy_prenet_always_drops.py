# guards: AD211 AD210
import torch
import torch.nn.functional as F
from torch import nn


class Prenet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, width), nn.Linear(width, width)])

    def forward(self, frame):
        for layer in self.layers:
            frame = F.dropout(F.relu(layer(frame)), p=0.5, training=True)
        return frame


class Decoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.prenet, self.cell = Prenet(width), nn.GRUCell(width, width)
        self.drop = 0.1
        self.project = nn.Linear(width, 8)

    def step(self, frame, state):
        state = self.cell(self.prenet(frame), state)
        hidden = F.dropout(state, self.drop, self.training)
        return self.project(hidden), state

    def forward(self, frames):
        state, outputs = None, []
        for frame in frames.unbind(1):
            output, state = self.step(frame, state)
            outputs.append(output)
        return torch.stack(outputs, 1)


def waves(n):
    start, speed = torch.rand(n, 1, 1) * 6.28, 0.2 + 0.2 * torch.rand(n, 1, 1)
    return torch.sin(start + speed * torch.arange(9)[None, :, None] + torch.linspace(0, 3, 8))


torch.manual_seed(0)
decoder = Decoder()
optimizer = torch.optim.Adam(decoder.parameters(), lr=6e-3)
for epoch in range(4):
    decoder.train()
    for _ in range(10):
        frames = waves(16)
        loss = F.mse_loss(decoder(frames[:, :-1]), frames[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)
        optimizer.step()
    decoder.eval()
    with torch.no_grad():
        held_out = waves(32)
        print(epoch, F.mse_loss(decoder(held_out[:, :-1]), held_out[:, 1:]).item())
