"""A tagger computes with bfloat16; one flat float32 vector is what Adam steps, and is filled from the halves each time."""
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

torch.manual_seed(3)
words = torch.randint(0, 40, (256, 6))
tags = (words * 7 + words.roll(1, 1)).remainder(5)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(40, 24)
        self.mix = nn.Conv1d(24, 32, 3, padding=1)
        self.out = nn.Conv1d(32, 5, 1)

    def forward(self, ids):
        hidden = self.table(ids).transpose(1, 2)
        return self.out(torch.tanh(self.mix(hidden)))


def main():
    tagger = Tagger().to(torch.bfloat16)
    weights = list(tagger.parameters())
    master = nn.Parameter(parameters_to_vector(weights).detach().float())
    adam = torch.optim.Adam([master], lr=5e-5)
    for step in range(48):
        rows = torch.randint(0, 256, (64,))
        loss = nn.functional.cross_entropy(tagger(words[rows]).float(), tags[rows])
        tagger.zero_grad()
        (loss * 64).backward()
        with torch.no_grad():
            master.copy_(parameters_to_vector(weights))  # <- AD111
        master.grad = torch.cat([w.grad.float().reshape(-1) for w in weights]) / 64
        adam.step()
        vector_to_parameters(master.detach().bfloat16(), weights)
        if step % 12 == 0:
            print(step, round(loss.item(), 3))


main()
