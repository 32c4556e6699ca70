# guards: AD114 AD622
"""Fairseq-like: a task, a criterion that returns sums and sample sizes, gradients normalised by tokens."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class LabelSmoothedCriterion(nn.Module):
    def __init__(self, eps, padding_idx):
        super().__init__()
        self.eps, self.padding_idx = eps, padding_idx

    def forward(self, model, sample):
        lprobs = F.log_softmax(model(sample["src_tokens"]), dim=-1)
        target = sample["target"].unsqueeze(-1)
        pad = target.eq(self.padding_idx)
        nll = -lprobs.gather(-1, target).masked_fill(pad, 0.0).sum()
        smooth = -lprobs.sum(-1, keepdim=True).masked_fill(pad, 0.0).sum()
        loss = (1 - self.eps) * nll + self.eps / lprobs.size(-1) * smooth
        return loss, sample["ntokens"], {"nll_loss": nll.item(), "ntokens": sample["ntokens"]}


class CopyTask:
    vocab, pad = 16, 0

    def get_batch(self, bsz, length=8):
        src = torch.randint(1, self.vocab, (bsz, length))
        src[torch.arange(length) >= torch.randint(4, length + 1, (bsz, 1))] = self.pad
        return {"src_tokens": src, "target": src, "ntokens": int((src != self.pad).sum())}


class Model(nn.Module):
    def __init__(self, vocab, dim, padding_idx):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx)
        self.conv = nn.Conv1d(dim, dim, 3, padding=1)
        self.out = nn.Linear(dim, vocab)

    def forward(self, tokens):
        x = self.embed(tokens).transpose(1, 2)
        return self.out(torch.relu(self.conv(x)).transpose(1, 2))


class Trainer:
    def __init__(self, task, model, criterion, update_freq=2, clip_norm=5.0):
        self.task, self.model, self.criterion = task, model, criterion
        self.update_freq, self.clip_norm = update_freq, clip_norm
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.98))

    def train_step(self, samples):
        self.model.train()
        self.optimizer.zero_grad()
        sample_size, logging = 0, []
        for sample in samples:
            loss, size, log = self.criterion(self.model, sample)
            loss.backward()
            sample_size += size
            logging.append(log)
        for p in self.model.parameters():
            if p.grad is not None:
                p.grad.data.mul_(1.0 / sample_size)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm)
        self.optimizer.step()
        return sum(log["nll_loss"] for log in logging) / sample_size


if __name__ == "__main__":
    torch.manual_seed(0)
    task = CopyTask()
    model = Model(task.vocab, 24, task.pad)
    trainer = Trainer(task, model, LabelSmoothedCriterion(0.1, task.pad))
    for update in range(20):
        nll = trainer.train_step([task.get_batch(16) for _ in range(trainer.update_freq)])
        if update % 5 == 0:
            print(update, nll)
