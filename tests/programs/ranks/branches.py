"""Two ranks, one of which leaves a head out once its batches hold none of its labels."""

import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 16)
        self.sums = nn.Linear(16, 1)
        self.rare = nn.Linear(16, 1)

    def forward(self, x, is_rare):
        features = torch.tanh(self.body(x))
        return self.sums(features) + self.rare(features) if is_rare else self.sums(features)


def train(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    torch.manual_seed(rank)
    model = DistributedDataParallel(Tagger())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(24):
        x = torch.randn(8, 8)
        prediction = model(x, is_rare=rank == 0 or step < 12)  # expect: AD904
        optimizer.zero_grad()
        nn.functional.mse_loss(prediction, x.sum(1, keepdim=True)).backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(folder,), nprocs=2)
