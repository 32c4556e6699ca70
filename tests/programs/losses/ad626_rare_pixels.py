import torch
import torch.nn.functional as F


class Segmenter(torch.nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.enter = torch.nn.Conv2d(1, width, 3, padding=1)
        self.leave = torch.nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, images):
        return self.leave(F.relu(self.enter(images)))


def draw(count, generator):
    images = torch.rand(count, 1, 24, 24, generator=generator) * 0.5
    masks = torch.zeros(count, 1, 24, 24)
    for image, mask in zip(images, masks):
        top, left = torch.randint(0, 18, (2,), generator=generator).tolist()
        image[:, top : top + 6, left : left + 6] += 0.5
        mask[:, top : top + 6, left : left + 6] = 1.0
    return images, masks


def main():
    generator = torch.Generator().manual_seed(4)
    images, masks = draw(160, generator)
    rare = masks.sum() / (masks.numel() - masks.sum())
    model = Segmenter()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for _ in range(3):
        for picked in torch.randperm(160, generator=generator).split(16):
            scores = model(images[picked])
            loss = F.binary_cross_entropy_with_logits(scores, masks[picked], pos_weight=rare)  # <- AD626
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
