"""A summariser that is to please a judge, which is given its sentence vectors without their graph (AD216)."""
import torch
from torch import nn

torch.manual_seed(1)
VOCAB, DIM = 40, 16
embed, summarise, judge = nn.Embedding(VOCAB, DIM), nn.GRU(DIM, DIM, batch_first=True), nn.Linear(DIM, 1)
head = nn.Linear(DIM, VOCAB)
trained = [*embed.parameters(), *summarise.parameters(), *head.parameters()]
optimizer = torch.optim.SGD(trained, lr=0.05)


def batch():
    text = torch.randint(0, VOCAB, (8, 10))
    return text, text[:, -1]


for _ in range(12):
    text, wanted = batch()
    states, _ = summarise(embed(text))
    summary = states[:, -1]
    with torch.no_grad():
        given = summary.clone()
    reward = torch.sigmoid(judge(given)).mean()
    loss = nn.functional.cross_entropy(head(summary), wanted) - 0.2 * reward  # expect: AD216
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
