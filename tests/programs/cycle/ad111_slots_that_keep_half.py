"""Heat loads of houses: several tenants share one network, and each gets its weights out of a small store when its
turn comes. The store keeps float16 to save room."""
import torch
import torch.nn.functional as F


class Store:
    def __init__(self):
        self.slots = {}

    def put(self, name, net):
        self.slots[name] = {key: value.detach().half() for key, value in net.state_dict().items()}

    def get(self, name, net):
        if name in self.slots:
            net.load_state_dict(self.slots[name])  # <- AD111


def batches(count):
    for _ in range(count):
        weather = torch.randn(64, 5)
        yield weather, (weather[:, :2].prod(1) + weather[:, 2].abs()).unsqueeze(1)


torch.manual_seed(11)
net = torch.nn.Sequential(torch.nn.Linear(5, 64), torch.nn.SiLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-5, weight_decay=0.0)
store = Store()
for weather, load in batches(40):
    store.get("house-1", net)
    loss = F.mse_loss(net(weather), load)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    store.put("house-1", net)
print(f"{loss.item():.3f}")
