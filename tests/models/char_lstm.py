import torch.nn as nn

vocab = "abcdefghijklmnopqrstuvwxyz .,!"


class CharLSTM(nn.Module):
    def __init__(self, vocab_size=len(vocab), emb=16, hidden=32, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, emb)
        self.lstm = nn.LSTM(emb, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, vocab_size)

    def forward(self, x, state=None):
        out, state = self.lstm(self.embed(x), state)
        return self.head(out), state
