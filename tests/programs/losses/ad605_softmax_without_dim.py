"""Labels for every moment of a sequence; the softmax is given no dimension."""

import torch
import torch.nn as nn

torch.manual_seed(6)


class SequenceTagger(nn.Module):
    def __init__(self, n_in=5, n_tags=4):
        super().__init__()
        self.rnn = nn.GRU(n_in, 20, batch_first=True)
        self.fc = nn.Linear(20, n_tags)
        self.log_softmax = nn.LogSoftmax()

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.log_softmax(self.fc(h))  # expect: AD605


model = SequenceTagger()
loss_fn = nn.NLLLoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2)
for step in range(25):
    x = torch.randn(8, 12, 5)
    tags = x[..., :4].argmax(-1)
    scores = model(x)
    loss = loss_fn(scores.transpose(1, 2), tags)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
