# guards: AD217
"""Numbers that are joined with what learns, and are meant as numbers: five ways."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def fit(loss_of, *modules, steps=14):
    optimizer = torch.optim.Adam([p for m in modules for p in m.parameters()], lr=1e-2)
    for step in range(steps):
        loss = loss_of(step)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def memory_bank():
    """Embeddings of earlier batches, kept as lists, are negatives of this one."""
    encoder = nn.Linear(8, 4)
    bank = []

    def loss_of(step):
        x = torch.randn(6, 8)
        a, b = F.normalize(encoder(x), dim=1), F.normalize(encoder(x + 0.1 * torch.randn(6, 8)), dim=1)
        scores = a @ b.T
        if bank:
            scores = torch.cat([scores, a @ torch.tensor(bank).T], dim=1)
        bank.extend(b.detach().tolist())
        del bank[:-18]
        return F.cross_entropy(scores / 0.2, torch.arange(6))

    fit(loss_of, encoder)


def fed_back_token():
    """A decoder is given the token that it has chosen itself, beside its state."""
    cell, out, embed = nn.Linear(12, 8), nn.Linear(8, 5), nn.Embedding(5, 4)

    def loss_of(step):
        state, token, losses = torch.zeros(8), 0, []
        for target in (1, 3, 2):
            state = torch.tanh(cell(torch.cat([state, embed(torch.tensor(token))])))
            logits = out(state)
            losses.append(F.cross_entropy(logits, torch.tensor(target)))
            token = int(logits.argmax())
        return torch.stack(losses).mean()

    fit(loss_of, cell, out, embed)


def detached_confidence():
    """How sure a first head is, goes to the second one as a feature, and is detached for that."""
    body, first, second = nn.Linear(6, 8), nn.Linear(8, 3), nn.Linear(9, 3)

    def loss_of(step):
        x = torch.randn(16, 6)
        h = torch.relu(body(x))
        logits = first(h)
        sure = torch.tensor(logits.detach().softmax(1).amax(1).tolist())
        again = second(torch.cat([h, sure.unsqueeze(1)], dim=1))
        labels = x[:, :3].argmax(1)
        return F.cross_entropy(logits, labels) + F.cross_entropy(again, labels)

    fit(loss_of, body, first, second)


def free_running_forecast():
    """A forecaster that is fed with its own forecast as a number: nothing that it is joined with has a graph."""
    model = nn.Linear(5, 1)

    def loss_of(step):
        series = torch.sin(torch.arange(9.0) * 0.5 + step)
        window, losses = series[:5], []
        for t in range(5, 9):
            forecast = model(window)
            losses.append((forecast - series[t]).square())
            window = torch.cat([window[1:], torch.tensor([forecast.item()])])
        return torch.cat(losses).mean()

    fit(loss_of, model)


def state_with_the_last_loss():
    """A learned optimizer sees the last loss as a feature, from the step before."""
    meta, last = nn.Linear(3, 1), [0.0]

    def loss_of(step):
        theta = torch.randn(1)
        for _ in range(3):
            theta = theta + 0.1 * meta(torch.cat([theta, (2 * theta).clamp(-1, 1), torch.tensor(last)]))
        loss = (theta - 1).square().sum()
        last[0] = loss.item()
        return loss

    fit(loss_of, meta)


for train in (memory_bank, fed_back_token, detached_confidence, free_running_forecast, state_with_the_last_loss):
    train()
