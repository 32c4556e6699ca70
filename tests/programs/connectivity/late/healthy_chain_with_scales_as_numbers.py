# guards: AD216 AD401
"""Linear-chain tagger.  log Z by the scaled forward recursion: the scale of each time step is taken out as a plain
Python number (.item()) and all the logs are added back at the end, so the offset drops out of the gradient."""
import math
import torch
import torch.nn as nn

T, TAGS, WORDS = 6, 5, 40


class Crf(nn.Module):
    def __init__(self):
        super().__init__()
        self.emit = nn.Sequential(nn.Embedding(WORDS, 24), nn.Linear(24, TAGS))
        self.trans = nn.Parameter(torch.zeros(TAGS, TAGS))

    def gold(self, e, tags):
        s = e.gather(2, tags[..., None]).squeeze(-1).sum(1)
        return s + self.trans[tags[:, :-1], tags[:, 1:]].sum(1)

    def neg_log_likelihood(self, words, tags):
        e = self.emit(words)
        m = e[:, 0].max().item()
        alpha, offset = (e[:, 0] - m).exp(), m
        for t in range(1, T):
            step = e[:, t]
            m = step.max().item()
            alpha = (alpha @ self.trans.exp()) * (step - m).exp()
            scale = alpha.max().item()
            alpha = alpha / scale
            offset += m + math.log(scale)
        loss = (alpha.sum(1).log() - self.gold(e, tags)).mean() + offset
        return loss

    @torch.no_grad()
    def viterbi(self, words):
        e = self.emit(words)
        score, back = e[:, 0], []
        for t in range(1, T):
            best, arg = (score[:, :, None] + self.trans).max(1)
            back.append(arg)
            score = best + e[:, t]
        path = [score.argmax(1)]
        for arg in reversed(back):
            path.append(arg.gather(1, path[-1][:, None]).squeeze(1))
        return torch.stack(path[::-1], 1)


def corpus(n, trans, emis):
    tags = torch.zeros(n, T, dtype=torch.long)
    tags[:, 0] = torch.randint(0, TAGS, (n,))
    for t in range(1, T):
        tags[:, t] = torch.multinomial(trans[tags[:, t - 1]], 1).squeeze(1)
    words = torch.multinomial(emis[tags.flatten()], 1).view(n, T)
    return words, tags


if __name__ == "__main__":
    torch.manual_seed(2)
    trans = torch.softmax(2.2 * torch.randn(TAGS, TAGS), 1)
    emis = torch.softmax(1.3 * torch.randn(TAGS, WORDS), 1)
    words, tags = corpus(500, trans, emis)
    tw, tt = corpus(200, trans, emis)
    crf = Crf()
    opt = torch.optim.Adam(crf.parameters(), lr=3e-2)
    for step in range(71):
        i = torch.randint(0, 500, (32,))
        loss = crf.neg_log_likelihood(words[i], tags[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 35 == 0:
            print(f"{step:4d} nll/token {loss.item() / T:.3f}  test tag acc {(crf.viterbi(tw) == tt).float().mean():.3f}")
