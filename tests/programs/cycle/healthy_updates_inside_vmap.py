# guards: AD116 AD303
import torch
from torch import nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap

torch.manual_seed(0)
angle = torch.rand(400) * 6.28
label = torch.randint(0, 2, (400,))
points = torch.stack([(1 + label) * angle.cos(), (1 + label) * angle.sin()], 1) + 0.1 * torch.randn(400, 2)
net = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 2))


def train_step(weights, x, y, lr=0.2):
    def loss_of(weights):
        return nn.functional.cross_entropy(functional_call(net, weights, (x,)), y)

    gradients, loss = grad_and_value(loss_of)(weights)
    return loss, {key: weights[key] - lr * gradients[key] for key in weights}


def fresh():
    return nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 2))


weights, _ = stack_module_state([fresh() for _ in range(3)])
weights = {key: value.detach() for key, value in weights.items()}
step = vmap(train_step, in_dims=(0, None, None))
for i in range(100):
    loss, weights = step(weights, points, label)
    if i % 20 == 0:
        print(i, loss.tolist())
