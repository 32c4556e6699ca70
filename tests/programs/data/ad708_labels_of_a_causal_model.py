import torch
from transformers import GPT2Config, GPT2LMHeadModel


def windows(ids, size):
    for start in range(0, len(ids) - size - 1, size):
        yield {"input_ids": ids[start : start + size], "labels": ids[start + 1 : start + size + 1]}  # <- AD708


def collate(rows):
    return {name: torch.stack([row[name] for row in rows]) for name in rows[0]}


torch.manual_seed(2)
text = torch.randint(0, 50, (2200,))
loader = torch.utils.data.DataLoader(list(windows(text, 16)), batch_size=8, shuffle=True, collate_fn=collate)
model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=32, n_embd=24, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model.train()
for epoch in range(2):
    for batch in loader:
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
