import torch

torch.manual_seed(0)
maker = torch.nn.Linear(4, 3)
judge = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.LeakyReLU(0.2), torch.nn.Linear(8, 1))
maker_step = torch.optim.Adam(maker.parameters(), lr=1e-3)
judge_step = torch.optim.Adam(judge.parameters(), lr=1e-3)
for round in range(40):
    verdict = judge(maker(torch.randn(16, 4)))
    (-verdict.mean()).backward(retain_graph=True)
    judge_step.step()  # <- AD501
    maker_step.step()
    maker_step.zero_grad()
    judge_step.zero_grad()
    verdict.mean().backward()
    maker_step.step()
    maker_step.zero_grad()
