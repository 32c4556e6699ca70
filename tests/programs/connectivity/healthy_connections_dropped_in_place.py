# guards: AD215
"""DropConnect on a shared embedding of items: in each forward some entries are zeroed, and they return before the step."""
import torch
from torch import nn


class Recommender(nn.Module):
    def __init__(self, users, items):
        super().__init__()
        self.user, self.item = nn.Embedding(users, 6), nn.Embedding(items, 6)
        self.backup = None

    def forward(self, user, item):
        if self.training:
            self.backup = self.item.weight.clone().detach()
            with torch.no_grad():
                self.item.weight.mul_(torch.rand_like(self.item.weight) > 0.2)
        return (self.user(user) * self.item(item)).sum(1)


torch.manual_seed(2)
model = Recommender(30, 40)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
taste, kind = torch.randn(30, 3), torch.randn(40, 3)
for _ in range(30):
    user, item = torch.randint(0, 30, (64,)), torch.randint(0, 40, (64,))
    rating = (taste[user] * kind[item]).sum(1)
    loss = nn.functional.huber_loss(model(user, item), rating)
    optimizer.zero_grad()
    loss.backward()
    model.item.weight.data = model.backup
    optimizer.step()
