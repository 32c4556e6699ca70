import torch


class Recogniser(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.front = torch.nn.Sequential(torch.nn.Conv1d(8, 16, 3, padding=1), torch.nn.ReLU())
        self.middle = torch.nn.GRU(16, 16, batch_first=True)
        self.words = torch.nn.Linear(16, 6)

    def forward(self, sound):
        states, _ = self.middle(self.front(sound).transpose(1, 2))
        return self.words(states.mean(1))


class Stage:
    def __init__(self, name, parameters, rate, steps):
        self.name, self.steps = name, steps
        self.optimizer = torch.optim.AdamW(parameters, lr=rate)  # <- AD206
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, steps)

    def run(self, model, sample):
        for _ in range(self.steps):
            sound, word = sample()
            loss = torch.nn.functional.cross_entropy(model(sound), word)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
        print(self.name, round(loss.item(), 3))


def sample():
    word = torch.randint(0, 6, (24,))
    return torch.randn(24, 8, 20) + word[:, None, None] * 0.3, word


torch.manual_seed(5)
model = Recogniser()
for part in (model.front, model.middle):
    for weight in part.parameters():
        weight.requires_grad = False
Stage("words", model.words.parameters(), 1e-2, 12).run(model, sample)
Stage("everything", model.parameters(), 1e-3, 14).run(model, sample)
