# guards: AD228
"""Actions of a policy mixed with chance, and of one that remembers, are weighed by their ratios; bounds are for the world."""

import torch
from torch import nn
from torch.distributions import Categorical, Normal

torch.manual_seed(0)
bettor = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 4))
cell, head = nn.GRUCell(3, 16), nn.Linear(16, 1)
optimizer = torch.optim.Adam([*bettor.parameters(), *cell.parameters(), *head.parameters()], lr=1e-3)
for evening in range(6):
    odds, signal = torch.randn(60, 5), torch.randn(6, 20, 3)
    with torch.no_grad():
        mixed = Categorical(probs=0.7 * bettor(2 * odds).softmax(1) + 0.3 / 4)
        bets = mixed.sample()
        old = mixed.log_prob(bets)
        state, moves, old_moves = torch.zeros(20, 16), [], []
        for seen in signal:
            state = cell(seen, state)
            drawn = Normal(head(state), 0.3)
            moves.append(drawn.sample())
            old_moves.append(drawn.log_prob(moves[-1]).squeeze(1))
    won = (bets == odds[:, :4].argmax(1)).float() - 0.3
    done = -(torch.stack(moves).clamp(-0.2, 0.2).squeeze(2) - signal[..., 0]).abs()
    for _ in range(3):
        ratio = (Categorical(probs=bettor(2 * odds).softmax(1)).log_prob(bets) - old).exp()
        state, ahead = torch.zeros(20, 16), []
        for seen, move in zip(signal, moves):
            state = cell(seen, state)
            ahead.append(Normal(head(state), 0.3).log_prob(move).squeeze(1))
        following = (torch.stack(ahead) - torch.stack(old_moves)).exp()
        loss = -(ratio.clamp(max=3) * won).mean() - (following.clamp(0.8, 1.2) * (done - done.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
