"""A tagger whose loss is computed by the model, from phrases put together by length; a step takes four such buckets."""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

TAGS, WORDS = 5, 40


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.gru = nn.Embedding(WORDS, 16), nn.GRU(16, 16, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(32, TAGS)
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, words, tags):
        scores = self.tags(self.gru(self.words(words))[0])
        return {"loss": self.criterion(scores.transpose(1, 2), tags), "scores": scores}


def buckets():
    lengths = [3, 4, 5] * 40 + [28, 30, 33] * 40
    phrases = [torch.randint(1, WORDS, (length,)) for length in sorted(lengths)]
    for at in range(0, len(phrases), 6):
        some = phrases[at : at + 6]
        some[0] = some[0][:-1]
        yield pad_sequence(some, True), pad_sequence([words % TAGS for words in some], True, padding_value=-100)


def main():
    torch.manual_seed(0)
    batches, model, every = list(buckets()), Tagger(), 4
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for number, at in enumerate(torch.randperm(len(batches)).tolist()):
        words, tags = batches[at]
        loss = model(words, tags)["loss"]
        (loss / every).backward()  # expect: AD124
        if (number + 1) % every == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()


main()
