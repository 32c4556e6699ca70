# guards: AD599
"""A program that counts operations, profiles, traces and exports its own model: none of this may see the doctor."""
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode


class Count(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.operations = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.operations += 1
        return func(*args, **(kwargs or {}))


def train(model, optimizer, steps):
    for _ in range(steps):
        x = torch.randn(16, 4)
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
train(model, optimizer, 6)

with Count() as first:
    train(model, optimizer, 1)
with Count() as second:
    train(model, optimizer, 1)
assert first.operations == second.operations < 60, (first.operations, second.operations)

with profile(activities=[ProfilerActivity.CPU]) as profiled:
    train(model, optimizer, 1)
names = [event.name for event in profiled.events()]
assert names.count("aten::linear") == 2, names
assert "aten::isfinite" not in names
assert "aten::linalg_vector_norm" not in names

graph = torch.jit.trace(model, torch.randn(2, 4)).inlined_graph
assert not any("norm" in node.kind() or "isfinite" in node.kind() for node in graph.nodes())
assert len(make_fx(lambda x: torch.relu(x) * 2 + x.sum())(torch.randn(3)).graph.nodes) == 6
with FakeTensorMode(allow_non_fake_inputs=True):
    assert model(torch.randn(3, 4)).shape == (3, 1)
assert len(torch.export.export(model, (torch.randn(3, 4),)).graph.nodes) > 4
train(model, optimizer, 6)
