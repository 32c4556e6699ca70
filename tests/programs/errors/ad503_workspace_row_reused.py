import torch
from torch import nn


class Memory(nn.Module):
    """A ring of slots that every time step writes its state to."""

    def __init__(self, width, slots):
        super().__init__()
        self.cell = nn.Linear(2 * width, width)
        self.slots = slots
        self.width = width

    def forward(self, sequence):
        ring = torch.zeros(len(sequence), self.slots, self.width)
        state = torch.zeros(len(sequence), self.width)
        outputs = []
        for t in range(sequence.shape[1]):
            ring.data[:, t % self.slots] = state.detach()  # expect: AD503
            read = ring[:, t % self.slots] * state
            state = torch.tanh(self.cell(torch.cat([sequence[:, t], read], 1)))
            outputs.append(state)
        return torch.stack(outputs, 1)


torch.manual_seed(0)
width = 8
memory, head = Memory(width, 3), nn.Linear(width, 1)
optimizer = torch.optim.Adam([*memory.parameters(), *head.parameters()], lr=3e-3)
for step in range(30):
    sequence = torch.randn(32, 7, width)
    target = sequence.mean((1, 2), keepdim=False)[:, None]
    loss = (head(memory(sequence)[:, -1]) - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
