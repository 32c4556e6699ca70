# guards: AD630
"""Targets that hold a prediction in a part of the rows, each for a good reason."""
import torch
from torch import nn

torch.manual_seed(0)
values = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 4))
optimizer = torch.optim.Adam(values.parameters(), lr=1e-3)
ROWS = 32


def goes_on(reward, after, number):
    """What goes on is marked, and that is the rule."""
    lasting = torch.tensor([float((row + number) % 8 > 0) for row in range(ROWS)])
    return reward + 0.9 * lasting * after.amax(1)


def short_hands(reward, after, number):
    """Most hands of the game end with the first card that is drawn."""
    over = torch.tensor([(row + number) % 6 > 0 for row in range(ROWS)])
    return reward + 0.9 * after.amax(1) * (~over).float()


def options(reward, after, number):
    """Where an option ends the best is chosen, and where it goes on its own value counts."""
    ends = torch.tensor([float((row + number) % 7 == 0) for row in range(ROWS)])
    return reward + 0.9 * (ends * after.amax(1) + (1 - ends) * after[:, 0])


def mostly_padding(reward, after, number):
    """A few sequences are long, and all that comes after the others is nothing."""
    real = torch.tensor([float((row + number) % 5 == 0) for row in range(ROWS)])
    return real * reward + 0.9 * real * after.amax(1)


def padding_left_out_of_the_loss(reward, after, number):
    """The last step of a sequence has no other after it, and the padding has none either."""
    followed = torch.tensor([float((row + number) % 5 == 0) for row in range(ROWS)])
    target = reward + 0.9 * followed * after.amax(1)
    return torch.where(followed > 0, target, reward)


def actions_taken(reward, after, number):
    """One column of each row is that of the next action."""
    taken = torch.tensor([[float((row + number) % 4 == column) for column in range(4)] for row in range(ROWS)])
    return reward + 0.9 * (taken * after).sum(1)


def rarely_more_than_nothing(reward, after, number):
    """No end is marked, and values below a floor count as none."""
    return reward + 0.9 * (after.amax(1) - 0.5).relu()


WAYS = (
    goes_on,
    short_hands,
    options,
    mostly_padding,
    padding_left_out_of_the_loss,
    actions_taken,
    rarely_more_than_nothing,
)
for number in range(4):
    for way in WAYS:
        before, reward = torch.randn(ROWS, 3), torch.rand(ROWS)
        with torch.no_grad():
            target = way(reward, values(0.9 * before), number)
        loss = nn.functional.mse_loss(values(before).amax(1), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
