import torch
from torch import nn

torch.manual_seed(0)
VOCAB, MASK, LENGTH = 40, 0, 12
start = torch.randint(1, VOCAB, (160, 1))
corpus = (start + torch.arange(LENGTH)) % (VOCAB - 1) + 1


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, 32)
        self.places = nn.Parameter(0.02 * torch.randn(LENGTH, 32))
        self.mix = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(32, VOCAB)

    def forward(self, tokens):
        return self.head(self.mix(self.tokens(tokens) + self.places))


model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    for low in range(0, len(corpus), 20):
        target = corpus[low : low + 20]
        inputs = target
        mask = torch.rand(inputs.shape) < 0.15
        inputs[mask] = MASK  # expect: AD712
        logits = model(inputs)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
