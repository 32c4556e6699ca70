# guards: AD507
"""Topics of documents: each document pulls the vector of its topic, and frequent topics are not pulled harder."""

import torch
from torch import nn


class Pull(torch.autograd.Function):
    @staticmethod
    def forward(ctx, table, document, topic):
        ctx.save_for_backward(table, document, topic)
        return (document * table[topic]).sum(1)

    @staticmethod
    def backward(ctx, gradient):
        table, document, topic = ctx.saved_tensors
        summed = torch.zeros_like(table).index_add_(0, topic, gradient[:, None] * document)
        often = torch.bincount(topic, minlength=len(table)).clamp(min=1)
        return summed / often[:, None], gradient[:, None] * table[topic], None


torch.manual_seed(4)
embed = nn.EmbeddingBag(60, 8)
topics = nn.Parameter(0.1 * torch.randn(6, 8))
optimizer = torch.optim.Adagrad([*embed.parameters(), topics], lr=0.05)
for _ in range(14):
    topic = torch.randint(6, (48,))
    words = 10 * topic[:, None] + torch.randint(10, (48, 12))
    other = (topic + torch.randint(1, 6, (48,))) % 6
    document = embed(words)
    better = Pull.apply(topics, document, topic) - Pull.apply(topics, document, other)
    loss = nn.functional.softplus(-better).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
