# guards: AD706
"""Papers of a citation graph: beside the test score, that of all nodes, of each topic, and of well-linked papers."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
NODES, TOPICS = 240, 4
topic = torch.randint(TOPICS, (NODES,))
words = F.one_hot(topic, TOPICS).float() @ torch.randn(TOPICS, 24) + 2 * torch.randn(NODES, 24)
links = (torch.rand(NODES, NODES) < 0.01 + 0.05 * (topic[:, None] == topic)).float()
links = ((links + links.T) > 0).float() + torch.eye(NODES)
degree = links.sum(1)
links = degree.rsqrt()[:, None] * links * degree.rsqrt()
order = torch.randperm(NODES)
train, val, test = order[:60], order[60:100], order[100:200]
well_linked = degree > degree.median()


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(24, 32), nn.Linear(32, TOPICS)

    def forward(self, nodes, links):
        hidden = F.dropout(F.relu(self.first(links @ nodes)), 0.3, self.training)
        return F.log_softmax(self.second(links @ hidden), dim=1)


def share(guess, rows):
    return (guess[rows] == topic[rows]).float().mean().item()


model = Convolutions()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(25):
    model.train()
    optimizer.zero_grad()
    F.nll_loss(model(words, links)[train], topic[train]).backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        guess = model(words, links).argmax(dim=1)
    print(epoch, share(guess, train), share(guess, val), share(guess, test))
    if epoch % 8 == 7:
        print("all:", (guess == topic).float().mean().item())
        print("topics:", [share(guess, topic == one) for one in range(TOPICS)])
        print("well linked:", share(guess, well_linked), "others:", share(guess, ~well_linked))
        few = torch.randperm(NODES)[:50]
        print("a few of all:", share(guess, few), "of training:", share(guess, train[:20]))
