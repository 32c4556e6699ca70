"""Prompt tuning of a frozen transformer: the optimizer holds the classifier head, not the prompt (AD220)."""
import torch
import torch.nn as nn


class FrozenLM(nn.Module):
    def __init__(self, vocab=40, dim=32):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, nhead=4, dim_feedforward=64, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, num_layers=1)
        for p in self.parameters():
            p.requires_grad_(False)

    def forward(self, ids, prefix):
        x = torch.cat([prefix.expand(ids.size(0), -1, -1), self.tok(ids)], dim=1)
        return self.enc(x)


class PromptTuner:
    def __init__(self, lm, n_prompt, n_classes, lr=1e-2):
        self.lm = lm
        dim = lm.tok.embedding_dim
        self.prompt = (0.02 * torch.randn(1, n_prompt, dim)).requires_grad_(True)  # expect: AD220
        self.head = nn.Linear(dim, n_classes)
        self.optimizer = torch.optim.Adam(self.head.parameters(), lr=lr)
        self.loss_fn = nn.CrossEntropyLoss()

    def train_step(self, ids, labels):
        h = self.lm(ids, self.prompt)
        logits = self.head(h.mean(dim=1))
        loss = self.loss_fn(logits, labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item(), (logits.argmax(-1) == labels).float().mean().item()


def main():
    torch.manual_seed(0)
    tuner = PromptTuner(FrozenLM(), n_prompt=5, n_classes=2)
    for step in range(30):
        labels = torch.randint(0, 2, (32,))
        ids = torch.randint(0, 30, (32, 8)) + 10 * labels[:, None]
        loss, acc = tuner.train_step(ids, labels)
        if step % 10 == 9:
            print(f"[{step + 1}] loss={loss:.4f} acc={acc:.2f}")


if __name__ == "__main__":
    main()
