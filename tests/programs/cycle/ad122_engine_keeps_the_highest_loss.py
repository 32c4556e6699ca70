"""A regression of yields under Ignite: the checkpoint takes the highest score for the best, and its score is the loss."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint
from ignite.metrics import Loss
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
weather = torch.randn(230, 6)
yields = (weather[:, :2].sum(1) - weather[:, 2].abs())[:, None]
fields = DataLoader(TensorDataset(weather[:150], yields[:150]), batch_size=30, shuffle=True)
others = DataLoader(TensorDataset(weather[150:], yields[150:]), batch_size=32)

model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
criterion = nn.SmoothL1Loss()
trainer = create_supervised_trainer(model, torch.optim.Adam(model.parameters(), lr=5e-3), criterion)
evaluator = create_supervised_evaluator(model, metrics={"loss": Loss(criterion)})
files = {}


def save(checkpoint, filename, metadata=None):
    files[filename] = checkpoint


keep = Checkpoint({"model": model}, save, score_function=lambda engine: engine.state.metrics["loss"])  # expect: AD122
evaluator.add_event_handler(Events.COMPLETED, keep)


@trainer.on(Events.EPOCH_COMPLETED)
def validate(engine):
    evaluator.run(others)
    print(engine.state.epoch, evaluator.state.metrics["loss"])


trainer.run(fields, max_epochs=6)
print(list(files))
