# guards: AD511 AD622
"""Token tagging whose padding is ignored by index."""
import torch
import torch.nn as nn

torch.manual_seed(0)
VOCAB, TAGS, PAD = 25, 5, -100


class Tagger(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.lstm = nn.LSTM(dim, dim, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(2 * dim, TAGS)

    def forward(self, tokens):
        h, _ = self.lstm(self.embed(tokens))
        return self.fc(h)


def batch(n=16, length=10):
    tokens = torch.randint(0, VOCAB, (n, length))
    tags = tokens % TAGS
    tags[torch.arange(length) >= torch.randint(5, length + 1, (n, 1))] = PAD
    return tokens, tags


model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
for step in range(25):
    tokens, tags = batch()
    logits = model(tokens)
    loss = criterion(logits.view(-1, TAGS), tags.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 0:
        print(step, loss.item())
