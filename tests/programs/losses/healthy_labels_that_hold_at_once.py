# guards: AD614
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class AttentionTagger(nn.Module):
    """Each label looks at the regions that tell of it; the attention sums to one, the labels do not."""

    def __init__(self, dim=10, labels=5):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(labels, dim) * 0.1)
        self.keys = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, labels)

    def forward(self, regions):
        attention = torch.softmax(self.keys(regions) @ self.queries.T, dim=1)
        pooled = attention.transpose(1, 2) @ regions
        return torch.sigmoid(self.out(pooled).diagonal(dim1=1, dim2=2))


class SeveralQuestions(nn.Module):
    """One answer per question, all of them in one row."""

    def __init__(self, dim=10, questions=3, answers=4):
        super().__init__()
        self.shape = (questions, answers)
        self.head = nn.Linear(dim, questions * answers)

    def forward(self, x):
        return self.head(x).unflatten(1, self.shape).softmax(-1).flatten(1)


torch.manual_seed(0)
marks = torch.randn(5, 10)
present = (torch.rand(640, 5) < 0.5).float()
regions = torch.randn(640, 8, 10) * 0.3
for k in range(5):
    regions[torch.arange(640), torch.randint(0, 8, (640,))] += present[:, k : k + 1] * marks[k]
whole = regions.mean(1)
answers = nn.functional.one_hot((whole[:, :9].reshape(640, 3, 3).argmax(2) + 1), 4).float().flatten(1)
tagger, survey = AttentionTagger(), SeveralQuestions()
optimizer = torch.optim.Adam([*tagger.parameters(), *survey.parameters()], lr=5e-3)
bce, mse = nn.BCELoss(), nn.MSELoss()
for epoch in range(3):
    for r, p, w, a in DataLoader(TensorDataset(regions, present, whole, answers), batch_size=40, shuffle=True):
        loss = bce(tagger(r), p) + mse(survey(w), a)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
