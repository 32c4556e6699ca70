"""Actor and critic over the same states; the optimizer holds the critic alone, and the end prints the actor's gradient."""
import torch
from torch import nn

torch.manual_seed(5)
actor = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)  # expect: AD204
for update in range(30):
    states = torch.randn(32, 4)
    choice = torch.distributions.Categorical(logits=actor(states))
    action = choice.sample()
    reward = (action == states.argmax(1) % 3).float()
    value = critic(states).squeeze(1)
    advantage = reward - value.detach()
    loss = (-choice.log_prob(action) * advantage).mean() + 0.5 * (value - reward).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("gradient of the actor:", sum(float(p.grad.norm()) for p in actor.parameters()))
