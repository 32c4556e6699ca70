# guards: AD122
"""Ignite: the score of the checkpoint is the negative of the loss, that of early stopping the accuracy."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, EarlyStopping
from ignite.metrics import Accuracy, Loss
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(220, 7)
grade = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(7, 20), nn.ReLU(), nn.Linear(20, 3))
criterion = nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, torch.optim.RMSprop(model.parameters(), lr=5e-3), criterion)
evaluator = create_supervised_evaluator(model, metrics={"loss": Loss(criterion), "accuracy": Accuracy()})
saved = []
lowest = Checkpoint(
    {"model": model},
    lambda state, name, metadata: saved.append(name),
    score_function=Checkpoint.get_default_score_fn("loss", -1.0),
    score_name="negative_loss",
)
stopping = EarlyStopping(2, lambda engine: engine.state.metrics["accuracy"], trainer)
evaluator.add_event_handler(Events.COMPLETED, lowest)
evaluator.add_event_handler(Events.COMPLETED, stopping)
held_out = DataLoader(TensorDataset(x[160:], grade[160:]), batch_size=32)
trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda engine: evaluator.run(held_out))
trainer.run(DataLoader(TensorDataset(x[:160], grade[:160]), batch_size=32, shuffle=True), max_epochs=6)
print(saved)
