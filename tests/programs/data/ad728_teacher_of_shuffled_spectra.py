import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
spectra = torch.randn(160, 1, 24)
kinds = spectra[:, 0, ::8].argmax(1)
teacher = nn.Sequential(nn.Conv1d(1, 16, 5), nn.ReLU(), nn.Flatten(), nn.Linear(320, 3)).eval()
student = nn.Sequential(nn.Flatten(), nn.Linear(24, 8), nn.ReLU(), nn.Linear(8, 3))
loader = DataLoader(TensorDataset(spectra, kinds), batch_size=20, shuffle=True)

kept = []
for x, _ in loader:
    kept.append(teacher(x).softmax(1).detach().numpy())

optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
for _ in range(4):
    for number, (x, kind) in enumerate(loader):
        scores = student(x)
        soft = torch.from_numpy(kept[number])
        loss = nn.functional.cross_entropy(scores, kind) + nn.functional.cross_entropy(scores, soft)  # expect: AD728
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
