# guards: AD621
import torch
import torch.nn as nn
import torch.nn.functional as F

WORDS, LENGTH = 25, 14


class SentenceVae(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 16)
        self.reader = nn.LSTM(16, 24, batch_first=True, bidirectional=True)
        self.mean, self.log_variance = nn.Linear(48, 6), nn.Linear(48, 6)
        self.start = nn.Linear(6, 24)
        self.writer = nn.LSTM(16, 24, batch_first=True)
        self.scores = nn.Linear(24, WORDS)

    def forward(self, text):
        embedded = self.words(text)
        states, _ = self.reader(embedded)
        pooled = states.mean(1)
        mean, log_variance = self.mean(pooled), self.log_variance(pooled)
        code = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        first = torch.tanh(self.start(code))[None]
        written, _ = self.writer(embedded[:, :-1], (first, torch.zeros_like(first)))
        return self.scores(written), mean, log_variance


class Prefix(nn.Module):
    """Attends to a prefix as a whole, and predicts what follows it."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 16)
        self.places = nn.Parameter(0.1 * torch.randn(LENGTH, 16))
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.scores = nn.Linear(16, WORDS)

    def forward(self, text):
        mask = nn.Transformer.generate_square_subsequent_mask(text.shape[1])
        mask[:5, :5] = 0.0
        return self.scores(self.layer(self.words(text) + self.places[: text.shape[1]], src_mask=mask))


class Copier(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 16)
        self.transformer = nn.Transformer(16, 2, 1, 1, 32, dropout=0.0, batch_first=True)
        self.scores = nn.Linear(16, WORDS)

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.scores(self.transformer(self.words(source), self.words(target), tgt_mask=mask, tgt_is_causal=True))


def fit(model, loss_of, steps=12):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        text = torch.randint(1, WORDS, (20, LENGTH))
        text[:, 1::2] = text[:, ::2]
        loss = loss_of(model, text)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(type(model).__name__, loss.item())


def vae_loss(model, text):
    scores, mean, log_variance = model(text)
    likely = F.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten())
    return likely - 0.005 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum(1).mean()


def prefix_loss(model, text):
    wanted = text[:, 1:].clone()
    wanted[:, :4] = -100
    return F.cross_entropy(model(text[:, :-1]).flatten(0, 1), wanted.flatten())


def copier_loss(model, text):
    return F.cross_entropy(model(text, text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())


torch.manual_seed(6)
fit(SentenceVae(), vae_loss)
fit(Prefix(), prefix_loss)
fit(Copier(), copier_loss)
