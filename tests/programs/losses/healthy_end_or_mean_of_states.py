# guards: AD636 AD622
"""The last state is taken only where a sequence fills the batch; the others are pooled."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence

torch.manual_seed(0)
embed, gru, head = nn.Embedding(30, 16, padding_idx=0), nn.GRU(16, 32, batch_first=True), nn.Linear(32, 2)
model = nn.ModuleList([embed, gru, head])
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(30):
    lengths = torch.full((16,), 10)
    lengths[torch.randperm(16)[:6]] = 7
    seqs = [torch.randint(1, 30, (int(n),)) for n in lengths]
    labels = torch.tensor([int(s.float().mean() > 15) for s in seqs])
    states, _ = gru(embed(pad_sequence(seqs, batch_first=True)))
    full = (lengths == 10).unsqueeze(1)
    last = torch.where(full, states[:, -1], states[:, 6])  # two lengths only
    loss = F.cross_entropy(head(last), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
