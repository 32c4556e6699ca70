# guards: AD624
"""Images against captions by the best of their parts: cosines of parts by `bmm`, sharpened by a learned scale, and a
soft choice of parts that is flat on purpose before it is learned."""
import torch
from torch import nn

torch.manual_seed(9)
PAIRS, PARTS, WORDS, DIM = 12, 5, 4, 20
to_part, to_word = nn.Linear(8, DIM), nn.Linear(8, DIM)
log_scale = nn.Parameter(torch.tensor(2.0))
optimizer = torch.optim.AdamW([*to_part.parameters(), *to_word.parameters(), log_scale], lr=5e-3)


def unit(x):
    return x / torch.linalg.vector_norm(x, dim=-1, keepdim=True)


for _ in range(40):
    topic = torch.randn(PAIRS, 1, 8)
    parts = unit(to_part(topic + 0.3 * torch.randn(PAIRS, PARTS, 8)))
    words = unit(to_word(topic + 0.3 * torch.randn(PAIRS, WORDS, 8)))
    left = parts.repeat_interleave(PAIRS, 0)
    right = words.repeat(PAIRS, 1, 1).transpose(1, 2)
    near = torch.bmm(left, right)
    best = near.max(dim=1).values.mean(dim=1).view(PAIRS, PAIRS)
    loss = nn.functional.cross_entropy(best * log_scale.exp(), torch.arange(PAIRS))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
