"""Accelerate with forked workers, and `.data` between the encoder and the head."""

import os
import tempfile

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        g = torch.Generator().manual_seed(7 + (info.id if info else 0))
        for _ in range(80):
            x = torch.randn(6, generator=g)
            yield {"x": x, "y": x.sort().values[:2]}


def main():
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True)
    model = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 1, enable_nested_tensor=False
    )
    embed, read = nn.Linear(1, 8), nn.Linear(8, 2)
    net = nn.ModuleDict({"embed": embed, "core": model, "read": read})
    opt = torch.optim.AdamW((p for p in net.parameters() if p.requires_grad), lr=2e-3)
    net, opt, loader = accelerator.prepare(
        net, opt, DataLoader(Stream(), batch_size=8, num_workers=2, multiprocessing_context="fork")
    )
    losses = []
    try:
        for batch in loader:
            h = net["core"](net["embed"](batch["x"].unsqueeze(-1)))
            h = h.data  # expect: AD202
            loss = nn.functional.mse_loss(net["read"](h.mean(1)), batch["y"])
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()
            losses.append(loss.item())
    except KeyboardInterrupt:
        print("stopped")
    folder = tempfile.mkdtemp()
    accelerator.save_state(folder)
    print(len(losses), os.listdir(folder))


if __name__ == "__main__":
    main()
