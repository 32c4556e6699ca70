# guards: AD621
import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
BOS, EOS, PAD = 2, 1, 0
words = torch.randint(3, 30, (640, 9))
column = torch.ones(640, 1, dtype=torch.long)
source = torch.cat([BOS * column, words], dim=1)
target = torch.cat([words, EOS * column], dim=1)

model = T5ForConditionalGeneration(
    T5Config(
        vocab_size=30, d_model=32, d_kv=16, d_ff=64, num_layers=1, num_heads=2, decoder_start_token_id=PAD, pad_token_id=PAD
    )
)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(2):
    for input_ids, labels in DataLoader(TensorDataset(source, target), batch_size=32, shuffle=True):
        loss = model(input_ids=input_ids, labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    print(epoch, loss.item())
