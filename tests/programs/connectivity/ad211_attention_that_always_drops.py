import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SelfAttention(nn.Module):
    def __init__(self, width, heads, drop):
        super().__init__()
        self.heads, self.drop = heads, drop
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=self.drop)  # <- AD211
        return x + self.proj(y.transpose(1, 2).reshape(b, t, c))


class Counter(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 32)
        self.attend = SelfAttention(32, 4, 0.2)
        self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 11)

    def forward(self, tokens):
        return self.head(self.norm(self.attend(self.embed(tokens)).mean(1)))

    def training_step(self, batch, index):
        tokens, count = batch
        return nn.functional.cross_entropy(self(tokens), count)

    def validation_step(self, batch, index):
        tokens, count = batch
        self.log("right", (self(tokens).argmax(1) == count).float().mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-3)


def data(n):
    tokens = torch.randint(0, 12, (n, 10))
    return TensorDataset(tokens, (tokens == 3).sum(1))


if __name__ == "__main__":
    lightning.seed_everything(3)
    options = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", **options)
    trainer.fit(Counter(), DataLoader(data(800), 40, shuffle=True), DataLoader(data(200), 100))
