# guards: AD621
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import T5Config, T5ForConditionalGeneration, get_linear_schedule_with_warmup

PAD, EOS, FIRST, VOCAB = 0, 1, 3, 40


class SortTask(Dataset):
    def __init__(self, n=640, length=8):
        g = torch.Generator().manual_seed(0)
        self.rows = torch.randint(FIRST, VOCAB, (n, length), generator=g)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        source = self.rows[i]
        end = torch.tensor([EOS])
        return {"input_ids": torch.cat([source, end]), "labels": torch.cat([source.sort().values, end])}


torch.manual_seed(0)
config = T5Config(
    vocab_size=VOCAB,
    d_model=32,
    d_kv=8,
    d_ff=64,
    num_layers=1,
    num_heads=4,
    dropout_rate=0.0,
    decoder_start_token_id=PAD,
    pad_token_id=PAD,
    eos_token_id=EOS,
)
model = T5ForConditionalGeneration(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
loader = DataLoader(SortTask(), batch_size=32, shuffle=True)
scheduler = get_linear_schedule_with_warmup(optimizer, 5, 2 * len(loader))
for epoch in range(2):
    model.train()
    for batch in loader:
        outputs = model(**batch)
        outputs.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    print(epoch, outputs.loss.item())
