"""An actor takes an optimizer step at each decision; its warm-up was written for those, and is told of episodes."""

import torch


class Trainer:
    def __init__(self, actor, warmup_updates):
        self.actor = actor
        self.optim = torch.optim.RMSprop(actor.parameters(), lr=1e-2)
        ramp = torch.optim.lr_scheduler.LambdaLR
        self.ramp = ramp(self.optim, lambda update: min(1.0, 0.02 + update / warmup_updates))

    def update(self, state, reward):
        choice = torch.distributions.Categorical(logits=self.actor(state))
        action = choice.sample()
        loss = -(choice.log_prob(action) * reward(state, action)).mean()
        self.optim.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.actor.parameters(), 5.0)
        self.optim.step()

    def episode_ended(self):
        self.ramp.step()  # expect: AD115


torch.manual_seed(0)
trainer = Trainer(torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2)), 100)
for episode in range(10):
    for decision in range(15):
        trainer.update(torch.randn(12, 3), lambda state, action: torch.where(state[:, 0] > 0, action, 1 - action) - 0.5)
    trainer.episode_ended()
