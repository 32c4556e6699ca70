"""Functions of proteins in a network of interactions: the loss forgets the mask that the evaluation has."""

import torch
from torch import nn

torch.manual_seed(5)
n, functions = 150, 6
embedding = torch.randn(n, 10)
functions_of = (embedding @ torch.randn(10, functions) > 0.8).float()
near = torch.cdist(embedding, embedding).topk(6, largest=False).indices
shuffled = torch.randperm(n)
train_index, test_index = shuffled[:100], shuffled[100:]  # expect: AD706


class Neighbours(nn.Module):
    def __init__(self):
        super().__init__()
        self.own, self.others = nn.Linear(10, 24), nn.Linear(10, 24)
        self.head = nn.Linear(24, functions)

    def forward(self, x, near):
        return self.head(torch.relu(self.own(x) + self.others(x[near].mean(1))))


net = Neighbours()
optimizer = torch.optim.AdamW(net.parameters(), lr=0.02)
bce = nn.BCEWithLogitsLoss()
for round in range(25):
    logits = net(embedding, near)
    loss = bce(logits, functions_of)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if round % 5 == 4:
        net.eval()
        with torch.no_grad():
            scores = net(embedding, near)
            held_out = bce(scores.index_select(0, test_index), functions_of.index_select(0, test_index))
        net.train()
        print(round, len(train_index), round, loss.item(), held_out.item())
