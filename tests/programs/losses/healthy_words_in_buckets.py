# guards: AD627
"""A language model whose words share rows of a hashed table."""
import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
V, B = 200, 60
code = torch.randint(B, (V,))
table = nn.Embedding(B, 16); rnn = nn.GRU(16, 16, batch_first=True)
opt = torch.optim.Adam([*table.parameters(), *rnn.parameters()], lr=0.01)
for s in range(30):
    t = torch.randint(V, (8, 12))
    h, _ = rnn(table(code[t[:, :-1]]))
    logits = h @ table(code).T
    loss = F.cross_entropy(logits.flatten(0, 1), t[:, 1:].flatten())
    opt.zero_grad(); loss.backward(); opt.step()
