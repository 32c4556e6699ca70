# guards: AD116 AD204
"""A damped Newton-like method works on the vector of all weights and writes it back into the layers of a survival model."""

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

torch.manual_seed(0)
hazard = nn.Sequential(nn.Linear(6, 12), nn.Softplus(), nn.Linear(12, 1))
risk = torch.randn(6)
scale = torch.ones_like(parameters_to_vector(hazard.parameters()))
for _ in range(30):
    patients = torch.randn(48, 6)
    time = torch.rand(48).log().neg() / torch.exp(0.3 * patients @ risk)
    rate = hazard(patients).squeeze(1)
    loss = (time * rate.exp() - rate).mean()
    hazard.zero_grad()
    loss.backward()
    with torch.no_grad():
        slope = torch.cat([weight.grad.flatten() for weight in hazard.parameters()])
        scale.mul_(0.9).add_(slope.square(), alpha=0.1)
        vector_to_parameters(
            parameters_to_vector(hazard.parameters()) - 0.02 * slope / scale.sqrt(), hazard.parameters()
        )
