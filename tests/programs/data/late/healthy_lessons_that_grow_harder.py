# guards: AD706
"""Curriculum over sums: the next lesson is looked at beside the present one, and joins the exercises when it is begun."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
tasks = torch.rand(360, 6)
answers = torch.stack([tasks[:, :terms].sum(1) for terms in (2, 4, 6)]).gather(0, torch.arange(360)[None] // 120).T
lessons = list(torch.arange(360).split(120))
pupil = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(pupil.parameters(), lr=5e-3)
for lesson in range(3):
    exercises = torch.cat(lessons[: lesson + 1])
    for _ in range(3):
        for batch in exercises[torch.randperm(len(exercises))].split(24):
            optimizer.zero_grad()
            F.mse_loss(pupil(tasks[batch]), answers[batch]).backward()
            optimizer.step()
    with torch.no_grad():
        shown = torch.cat([lessons[lesson][60:], *(each[:60] for each in lessons[lesson + 1 : lesson + 2])])
        print(lesson, F.mse_loss(pupil(tasks[shown]), answers[shown]).item())
