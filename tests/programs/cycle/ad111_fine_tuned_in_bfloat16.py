import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(
    vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0
)
model = GPT2LMHeadModel(config).to(torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, weight_decay=0.01)  # expect: AD111
rows = torch.randint(0, 64, (40, 24))
rows[:, 1::2] = rows[:, ::2]

model.train()
for step in range(20):
    batch = rows[torch.randperm(40)[:16]]
    loss = model(input_ids=batch, labels=batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if step % 5 == 0:
        print(step, round(loss.item(), 4))
