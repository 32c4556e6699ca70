"""Beans of four grades, sorted by them; the sampler gets the weights of the grades where it wants those of beans, and
draws the first four, which are all of one grade."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


class Beans(Dataset):
    def __init__(self, per_grade=(120, 60, 30, 15)):
        self.grade = torch.cat([torch.full((count,), grade) for grade, count in enumerate(per_grade)])
        self.traits = torch.randn(len(self.grade), 5) + self.grade[:, None] * torch.tensor([0.4, -0.3, 0.0, 0.8, 0.1])

    def __len__(self):
        return len(self.grade)

    def __getitem__(self, bean):
        return {"traits": self.traits[bean], "grade": self.grade[bean]}


torch.manual_seed(6)
beans = Beans()
rarity = (len(beans) / torch.bincount(beans.grade)).tolist()
fair = WeightedRandomSampler(rarity, len(beans))
sacks = DataLoader(beans, batch_size=15, sampler=fair)  # expect: AD711
grader = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 4))
learner = torch.optim.NAdam(grader.parameters(), lr=5e-3)
for _ in range(3):
    for sack in sacks:
        learner.zero_grad()
        nn.functional.cross_entropy(grader(sack["traits"]), sack["grade"]).backward()
        learner.step()
