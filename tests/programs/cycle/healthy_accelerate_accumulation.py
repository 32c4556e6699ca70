# guards: AD105 AD125 AD101
"""Accelerate with accumulation, clipping, an average of the weights and evaluation."""

import argparse
import copy

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EMA:
    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for e, p in zip(self.model.parameters(), model.parameters()):
            e.mul_(self.decay).add_(p, alpha=1 - self.decay)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--accumulate", type=int, default=2)
    return parser.parse_args()


def main():
    args = parse()
    set_seed(1)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=args.accumulate)
    x = torch.randn(240, 12)
    data = TensorDataset(x, torch.tanh(x @ torch.randn(12, 3)))
    model = nn.Sequential(nn.Linear(12, 40), nn.Mish(), nn.Linear(40, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 30)
    model, optimizer, train, valid, schedule = accelerator.prepare(
        model, optimizer, DataLoader(data, batch_size=12, shuffle=True), DataLoader(data, batch_size=60), schedule
    )
    ema = EMA(accelerator.unwrap_model(model), 0.95)
    for epoch in range(args.epochs):
        model.train()
        for bx, by in train:
            with accelerator.accumulate(model):
                loss = nn.functional.mse_loss(model(bx), by)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
                if accelerator.sync_gradients:
                    ema.update(accelerator.unwrap_model(model))
        model.eval()
        errors = []
        with torch.inference_mode():
            for bx, by in valid:
                errors.append(accelerator.gather_for_metrics((ema.model(bx) - by).square().mean(-1)))
        accelerator.print(epoch, torch.cat(errors).mean().item())


main()
