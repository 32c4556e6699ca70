"""FSDP2: each rank holds a shard of every parameter."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
fully_shard(model, mesh=mesh)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(dist.get_rank())
for _ in range(60):
    optimizer.zero_grad()
    x = torch.randn(8, 4)
    (model(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
    optimizer.step()
dist.destroy_process_group()
