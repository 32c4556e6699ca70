"""Keypoint regression with a bone-length term whose keypoints made a round trip through NumPy (AD217)."""
import numpy as np
import torch
from torch import nn

SKELETON = [(0, 1), (1, 2), (1, 3), (1, 4)]


def bone_lengths(kpts):
    parents = np.array([a for a, _ in SKELETON])
    children = np.array([b for _, b in SKELETON])
    return np.linalg.norm(kpts[:, children] - kpts[:, parents], axis=-1)


class PoseTrainer:
    def __init__(self, model, lr=5e-3, bone_weight=0.2):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.mse = nn.MSELoss()
        self.bone_weight = bone_weight

    def step(self, feats, kpts):
        self.model.train()
        pred = self.model(feats).view(-1, 5, 2)
        pred_bones = torch.from_numpy(bone_lengths(pred.detach().cpu().numpy()))
        gt_bones = torch.from_numpy(bone_lengths(kpts.numpy()))
        loss = self.mse(pred, kpts) + self.bone_weight * self.mse(pred_bones, gt_bones)  # expect: AD217
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    torch.manual_seed(0)
    lift = torch.randn(10, 24) / 3
    trainer = PoseTrainer(nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 10)))
    for step in range(40):
        kpts = torch.randn(32, 5, 2)
        feats = kpts.flatten(1) @ lift + 0.02 * torch.randn(32, 24)
        loss = trainer.step(feats, kpts)
        if step % 10 == 0 or step == 39:
            print('step %3d loss %.4f' % (step, loss))


if __name__ == '__main__':
    main()
