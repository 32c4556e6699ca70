# guards: AD401 AD402
import torch
from torch import nn

torch.manual_seed(8)
TAGS, LENGTH = 5, 9


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 16)
        self.emit = nn.Linear(16, TAGS)
        self.transitions = nn.Parameter(torch.zeros(TAGS, TAGS))

    def partition(self, words, allowed):
        scores = self.emit(self.embed(words)).masked_fill(~allowed, float("-inf"))
        alpha = scores[:, 0]
        for t in range(1, LENGTH):
            alpha = torch.logsumexp(alpha.unsqueeze(2) + self.transitions, dim=1) + scores[:, t]
        return torch.logsumexp(alpha, dim=1), scores

    def loss(self, words, tags, allowed):
        total, scores = self.partition(words, allowed)
        gold = scores.gather(2, tags.unsqueeze(2)).squeeze(2).sum(1)
        gold = gold + self.transitions[tags[:, :-1], tags[:, 1:]].sum(1)
        return (total - gold).mean()


net = Tagger()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(24):
    words = torch.randint(0, 40, (16, LENGTH))
    tags = words % TAGS
    allowed = torch.rand(16, LENGTH, TAGS) < 0.6
    allowed.scatter_(2, tags.unsqueeze(2), True)
    if step == 15:
        allowed[3, 4] = True
    loss = net.loss(words, tags, allowed)
    opt.zero_grad()
    loss.backward()
    opt.step()
