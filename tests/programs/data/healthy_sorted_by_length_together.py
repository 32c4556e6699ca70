# guards: AD708
import torch
from torch import nn
from torch.utils.data import DataLoader

def collate(samples):
    samples.sort(key=lambda sample: len(sample[0]), reverse=True)
    texts = [text for text, _ in samples]
    labels = torch.stack([label for _, label in samples])
    return nn.utils.rnn.pad_sequence(texts, batch_first=True), torch.tensor([len(t) for t in texts]), labels

torch.manual_seed(0)
texts = [torch.randint(1, 40, (length,)) for length in torch.randint(3, 20, (160,)).tolist()]
loader = DataLoader([(text, text[0] % 4) for text in texts], batch_size=16, shuffle=True, collate_fn=collate)
embed, gru, head = nn.Embedding(40, 16, padding_idx=0), nn.GRU(16, 24, batch_first=True), nn.Linear(24, 4)
model = nn.ModuleList([embed, gru, head])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for tokens, lengths, labels in loader:
    packed = nn.utils.rnn.pack_padded_sequence(embed(tokens), lengths, batch_first=True)
    loss = nn.functional.cross_entropy(head(gru(packed)[1][-1]), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
