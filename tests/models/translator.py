from torch import nn


class Translator(nn.Module):
    def __init__(self, source=60, target=70, width=32):
        super().__init__()
        self.source = nn.Embedding(source, width)
        self.target = nn.Embedding(target, width)
        self.body = nn.Transformer(width, 4, 1, 1, 64, dropout=0.0, batch_first=True)
        self.scores = nn.Linear(width, target)

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.size(1), device=target.device)
        return self.scores(self.body(self.source(source), self.target(target), tgt_mask=mask))
