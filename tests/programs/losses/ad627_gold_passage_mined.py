"""Dense retrieval: the passages that a bag of words ranks first are the hard negatives of a question."""
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(1)
WORDS, LENGTH, MINED = 300, 12, 6
passages = torch.randint(WORDS, (200, LENGTH))
questions = torch.stack([p[torch.randperm(LENGTH)[:6]] for p in passages])
counts = torch.zeros(200, WORDS).scatter_add_(1, passages, torch.ones(200, LENGTH))
asked = torch.zeros(200, WORDS).scatter_add_(1, questions, torch.ones(200, 6))
mined = (asked @ counts.T).topk(MINED, dim=1).indices


class Asked(Dataset):
    def __len__(self):
        return len(questions)

    def __getitem__(self, i):
        hard = mined[i][torch.randperm(MINED)]
        return questions[i], passages[i], passages[hard]


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.EmbeddingBag(WORDS, 32)
        self.out = nn.Linear(32, 16)

    def forward(self, texts):
        return self.out(torch.tanh(self.words(texts)))


ask, read = Tower(), Tower()
optimizer = torch.optim.AdamW([*ask.parameters(), *read.parameters()], lr=2e-3)
for epoch in range(5):
    for question, gold, hard in DataLoader(Asked(), batch_size=20, shuffle=True):
        texts = torch.cat([gold.unsqueeze(1), hard], dim=1)  # expect: AD627
        keys = read(texts.flatten(0, 1)).view(len(gold), 1 + MINED, -1)
        scores = torch.bmm(keys, ask(question).unsqueeze(2)).squeeze(2)
        loss = cross_entropy(scores, torch.zeros(len(gold), dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
