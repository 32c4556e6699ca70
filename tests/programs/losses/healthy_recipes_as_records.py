# guards: AD621
"""Ingredients to steps of a recipe, a record at a time; the record holds what is told apart from what is asked for."""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Recipe:
    wanted: torch.Tensor
    ingredients: torch.Tensor
    before: torch.Tensor


class Cook(nn.Module):
    def __init__(self, words=24, width=32):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.pantry = nn.GRU(width, width, batch_first=True)
        self.writer = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, words)
        self.again = nn.Linear(width, words)

    def forward(self, recipe):
        listed, memory = self.pantry(self.words(recipe.ingredients))
        written, _ = self.writer(self.words(recipe.before), memory)
        return self.out(written).log_softmax(-1), self.again(listed.mean(1)).log_softmax(-1)


torch.manual_seed(6)
cook = Cook()
optimizer = torch.optim.AdamW(cook.parameters(), lr=4e-3)
for step in range(50):
    ingredients = torch.randint(2, 24, (32, 8))
    steps = ingredients.sort(dim=1).values
    begun = torch.cat([torch.ones(32, 1, dtype=torch.long), steps[:, :-1]], dim=1)
    recipe = Recipe(wanted=steps, ingredients=ingredients, before=begun)
    told, listed = cook(recipe)
    loss = -told.gather(2, recipe.wanted.unsqueeze(2)).mean()
    # the summary of the list must still know all of it
    loss = loss - 0.2 * listed.gather(1, recipe.ingredients).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
