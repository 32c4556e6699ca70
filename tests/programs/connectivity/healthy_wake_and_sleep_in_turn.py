# guards: AD216
"""Wake and sleep in turn, for a machine in which both halves share how letters are embedded."""

import torch
from torch import nn

torch.manual_seed(0)


class Machine(nn.Module):
    def __init__(self, letters=12, width=8, topics=3):
        super().__init__()
        self.embedding = nn.Embedding(letters, width)
        self.recognise = nn.Linear(width, topics)
        self.topics = nn.Embedding(topics, width)

    def log_q(self, words):
        return self.recognise(self.embedding(words).mean(1)).log_softmax(-1)

    def log_p(self, topic):
        return (self.topics(topic) @ self.embedding.weight.T).log_softmax(-1)


machine = Machine()
optimizer = torch.optim.Adam(machine.parameters(), lr=0.01)
for step in range(60):
    awake = step % 2 == 0
    with torch.no_grad():
        if awake:
            words = torch.randint(0, 4, (64, 5)) + 4 * torch.randint(0, 3, (64, 1))
            topic = machine.log_q(words).exp().multinomial(1).squeeze(1)
        else:
            topic = torch.randint(0, 3, (64,))
            words = machine.log_p(topic).exp().multinomial(5, replacement=True)
    with torch.set_grad_enabled(awake):
        generative = machine.log_p(topic).gather(1, words).sum(1).mean()
    with torch.set_grad_enabled(not awake):
        recognition = machine.log_q(words).gather(1, topic.unsqueeze(1)).mean()
    bound = generative + recognition
    optimizer.zero_grad()
    (-bound).backward()
    optimizer.step()
