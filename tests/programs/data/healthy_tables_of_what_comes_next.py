# guards: AD708 AD618 AD202
"""A board game of chance: what a square is worth, by fees and chances to go on that are kept for each square."""

import copy

import torch
from torch import nn


class Board:
    def __init__(self, squares=24):
        self.squares = squares
        self.looks = torch.eye(squares)
        self.fees = torch.randn(squares)
        self.goes_on = 0.95 - 0.2 * torch.rand(squares)

    def throw(self, where):
        return (where + torch.randint(1, 7, where.shape)) % self.squares


class Worth(nn.Module):
    def __init__(self, squares):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(squares, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, looks):
        return self.layers(looks).flatten()


torch.manual_seed(5)
board = Board()
worth = Worth(board.squares)
slow = copy.deepcopy(worth).requires_grad_(False)
optimizer = torch.optim.Adam(worth.parameters(), lr=5e-3)
tokens = torch.randint(0, board.squares, (40,))
for turn in range(120):
    landed = board.throw(tokens)
    later = board.goes_on[landed] * slow(board.looks[landed])
    goal = board.fees[landed] + later
    loss = nn.functional.smooth_l1_loss(worth(board.looks[tokens]), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for mine, theirs in zip(slow.parameters(), worth.parameters()):
            mine.lerp_(theirs, 0.1)
    tokens = landed
    if turn % 40 == 0:
        print(turn, loss.item())
