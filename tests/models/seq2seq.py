from torch import nn


class Encoder(nn.Module):
    def __init__(self, vocab, hid):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hid)
        self.rnn = nn.GRU(hid, hid, batch_first=True)

    def forward(self, src):
        return self.rnn(self.embedding(src))[1]


class Decoder(nn.Module):
    def __init__(self, vocab, hid):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hid)
        self.rnn = nn.GRU(hid, hid, batch_first=True)
        self.out = nn.Linear(hid, vocab)

    def forward(self, tgt, hidden):
        y, _ = self.rnn(self.embedding(tgt), hidden)
        return self.out(y)


class Seq2Seq(nn.Module):
    def __init__(self, src_vocab=50, tgt_vocab=40, hid=32):
        super().__init__()
        self.encoder = Encoder(src_vocab, hid)
        self.decoder = Decoder(tgt_vocab, hid)

    def forward(self, src, tgt):
        return self.decoder(tgt, self.encoder(src))
