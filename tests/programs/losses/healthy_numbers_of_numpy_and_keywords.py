# guards: AD621 AD708
"""Next notes of melodies, written with NumPy's numbers as arguments, and with every argument by keyword."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(0)
rng = np.random.default_rng(0)


class Melodies(nn.Module):
    def __init__(self, notes: int = 24, width: int = 20) -> None:
        super().__init__()
        self.embed = nn.Embedding(notes, width)
        self.follow = nn.GRU(width, width, batch_first=True)
        self.say = nn.Linear(width, notes)
        self.register_buffer("shift", torch.empty(width))
        bound = np.sqrt(1 / width)
        nn.init.uniform_(tensor=self.shift, a=-bound, b=bound)

    def forward(self, notes: torch.Tensor) -> torch.Tensor:
        heard = torch.mul(input=self.embed(notes), other=np.float64(1.5))
        heard = torch.clamp(input=heard, min=np.float32(-3), max=np.float64(3))
        followed = functional.leaky_relu(input=self.follow(heard)[0] + self.shift, negative_slope=np.float64(0.01))
        return self.say(torch.cat(tensors=[followed[:, :1], followed[:, 1:]], dim=1))


model = Melodies()
optimizer = torch.optim.AdamW(model.parameters(), lr=np.float64(5e-3))
for _ in range(24):
    melodies = [torch.arange(int(n)) * int(rng.integers(1, 5)) % 23 + 1 for n in rng.integers(6, 12, size=8)]
    notes = pad_sequence(sequences=melodies, batch_first=True)
    coming = notes[:, 1:]
    told = functional.log_softmax(input=model(notes[:, :-1]), dim=-1)
    picked = torch.gather(input=told, dim=-1, index=torch.unsqueeze(input=coming, dim=-1)).squeeze(-1)
    counts = (coming > 0).float()
    loss = -torch.sum(input=picked * counts) / counts.sum() * np.float64(1.0)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=np.float64(5))
    optimizer.step()
