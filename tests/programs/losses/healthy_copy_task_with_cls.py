# guards: AD621
import torch
import torch.nn as nn
import torch.nn.functional as F

CLS, BOS, SYMBOLS = 0, 1, 12


class Copier(nn.Module):
    """Encoder and decoder; the decoder's input is the target, moved by one in here."""

    def __init__(self, d=32, length=10):
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS + 2, d)
        self.pos = nn.Embedding(length + 1, d)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True), 1)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(d, 4, 64, dropout=0.0, batch_first=True), 1)
        self.out = nn.Linear(d, SYMBOLS + 2)

    def add_pos(self, tokens):
        return self.embed(tokens) + self.pos.weight[: tokens.shape[1]]

    def forward(self, source, target):
        memory = self.encoder(self.add_pos(source))
        shifted = torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1)
        mask = nn.Transformer.generate_square_subsequent_mask(shifted.shape[1])
        return self.out(self.decoder(self.add_pos(shifted), memory, tgt_mask=mask, tgt_is_causal=True))


def main():
    torch.manual_seed(0)
    model = Copier()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(50):
        sequence = torch.randint(2, SYMBOLS + 2, (32, 10))
        source = F.pad(sequence, (1, 0), value=CLS)
        logits = model(source, sequence)
        loss = F.cross_entropy(logits.flatten(0, 1), sequence.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, loss.item(), (logits.argmax(-1) == sequence).float().mean().item())


if __name__ == "__main__":
    main()
