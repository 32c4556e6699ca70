# guards: AD636 AD622
"""Prompts are padded on the left, so that the last position of each is its last word."""
import torch
from torch import nn

torch.manual_seed(0)
PAD = 0
prompts = [torch.randint(1, 30, (int(length),)) for length in torch.randint(2, 12, (128,))]
answers = torch.stack([prompt[-1] % 3 for prompt in prompts])
width = max(map(len, prompts))
tokens = torch.stack([torch.cat([torch.full((width - len(each),), PAD), each]) for each in prompts])


class Answer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 16, padding_idx=PAD)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(16, 3)

    def forward(self, tokens):
        hidden = self.layer(self.embed(tokens), src_key_padding_mask=tokens == PAD)
        return self.head(hidden[:, -1])


model = Answer()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(30):
    rows = torch.randint(128, (32,))
    loss = nn.functional.cross_entropy(model(tokens[rows]), answers[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
