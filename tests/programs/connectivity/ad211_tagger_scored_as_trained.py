import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(25, 16)
        self.drop = nn.Dropout(0.3)
        self.rnn = nn.LSTM(16, 24, batch_first=True)
        self.out = nn.Linear(24, 3)

    def forward(self, words):
        return self.out(self.drop(self.rnn(self.drop(self.embed(words)))[0]))


def epoch(tagger, sentences, tags, optimizer=None):
    right = 0
    for words, tag in zip(sentences.split(16), tags.split(16)):
        scores = tagger(words)  # expect: AD211
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), tag)
        if optimizer:
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(tagger.parameters(), 1.0)
            optimizer.step()
        right += (scores.argmax(-1) == tag).sum().item()
    return right / tags.numel()


torch.manual_seed(0)
sentences = torch.randint(0, 25, (160, 9))
tags = sentences % 3
tagger = Tagger()
optimizer = torch.optim.Adam(tagger.parameters(), lr=5e-3)
for _ in range(5):
    epoch(tagger, sentences[:128], tags[:128], optimizer)
    print(epoch(tagger, sentences[128:], tags[128:]))
