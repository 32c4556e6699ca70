"""A policy for a small board game; moves that are not allowed are to be masked out of what it draws from."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(9, 32), nn.Tanh(), nn.Linear(32, 9))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for game in range(40):
    board = torch.randint(-1, 2, (24, 9)).float()
    scores = torch.where(board == 0, policy(board), -1e-8)  # expect: AD625
    moves = Categorical(logits=scores)
    move = moves.sample()
    reward = (board.gather(1, move[:, None]).squeeze(1) == 0).float() - 0.3 * (move == 4).float()
    loss = -(moves.log_prob(move) * (reward - reward.mean())).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if game % 10 == 0:
        print(game, reward.mean().item())
