"""Click propensities from logged visits: each visit is to count by how likely the new page layout would have shown it."""
import torch
from torch import Tensor, nn


class Propensity(nn.Module):
    def __init__(self, features: int, slots: int):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(features, 24), nn.SiLU(), nn.Linear(24, slots))

    def misfit(self, visit: Tensor, slot: Tensor) -> Tensor:
        scores = self.score(visit)
        picked = scores[torch.arange(len(slot)), slot]
        return (scores.logsumexp(1) - picked).sum() / len(slot)


class Trainer:
    def __init__(self, model: nn.Module):
        self.model, self.optimizer = model, torch.optim.AdamW(model.parameters(), lr=4e-3)

    def fit(self, visit: Tensor, slot: Tensor, shown_by_new: Tensor, shown_by_old: Tensor) -> float:
        ratio = (shown_by_new / shown_by_old).clamp(max=5.0)
        objective = self.model.misfit(visit, slot).mul(ratio).mean()  # <- AD619
        decay = 1e-4 * sum(p.square().sum() for p in self.model.parameters())
        self.optimizer.zero_grad()
        (objective + decay).backward()
        self.optimizer.step()
        return objective.item()


torch.manual_seed(4)
truth = torch.randn(6, 5)
trainer = Trainer(Propensity(6, 5))
for round_ in range(40):
    visit = torch.randn(48, 6)
    slot = torch.distributions.Categorical(logits=visit @ truth).sample()
    old, new = 0.1 + torch.rand(48), 0.1 + torch.rand(48)
    misfit = trainer.fit(visit, slot, new, old)
    if round_ % 10 == 0:
        print(round_, round(misfit, 3))
