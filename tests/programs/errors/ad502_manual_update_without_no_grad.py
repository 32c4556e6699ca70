"""Linear regression from scratch whose update runs in view of autograd."""
import torch

torch.manual_seed(0)

true_w, true_b = torch.tensor([2.0, -3.4]), 4.2
X = torch.randn(500, 2)
y = X @ true_w + true_b + 0.01 * torch.randn(500)

w = (0.01 * torch.randn(2)).requires_grad_()
b = torch.zeros(1, requires_grad=True)


def data_iter(batch_size):
    indices = torch.randperm(len(X))
    for i in range(0, len(X), batch_size):
        batch = indices[i : i + batch_size]
        yield X[batch], y[batch]


def sgd(params, lr):
    for param in params:
        param -= lr * param.grad  # expect: AD502
        param.grad.zero_()


for epoch in range(3):
    for features, target in data_iter(25):
        loss = ((features @ w + b - target) ** 2).mean() / 2
        loss.backward()
        sgd([w, b], lr=0.1)
    print(f"epoch {epoch + 1}, loss {loss.item():f}")
