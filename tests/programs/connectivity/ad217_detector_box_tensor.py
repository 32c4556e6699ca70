"""Tiny detector: class scores keep their graph, the box is put together with torch.tensor([...]) and loses it (AD217)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class TinyDetector(nn.Module):
    """One object per image: 3 class logits, then cx, cy, w, h."""

    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(),
        )
        self.head = nn.Linear(16 * 16, 7)

    def forward(self, img):
        return self.head(self.backbone(img))


def make_image():
    w, h = torch.randint(3, 7, (2,)).tolist()
    x0, y0 = torch.randint(0, 9, (2,)).tolist()
    label = torch.randint(0, 3, ()).item()
    img = torch.zeros(1, 16, 16)
    img[0, y0:y0 + h, x0:x0 + w] = 0.3 + 0.7 * label
    box = [(x0 + w / 2) / 16, (y0 + h / 2) / 16, w / 16, h / 16]
    return img, label, box


def detection_loss(out, labels, boxes):
    loss_cls = F.cross_entropy(out[:, :3], labels)
    pred_boxes = []
    for o in out:
        cx, cy, w, h = o[3:].sigmoid().unbind()
        pred_boxes.append([cx.item(), cy.item(), w.item(), h.item()])
    pred_boxes = torch.tensor(pred_boxes)
    loss_box = F.smooth_l1_loss(pred_boxes, boxes)
    return loss_cls + 5.0 * loss_box  # expect: AD217


torch.manual_seed(0)
det = TinyDetector()
optimizer = torch.optim.Adam(det.parameters(), lr=1e-2)
for it in range(40):
    imgs, labels, boxes = zip(*[make_image() for _ in range(16)])
    imgs, labels, boxes = torch.stack(imgs), torch.tensor(labels), torch.tensor(boxes)
    loss = detection_loss(det(imgs), labels, boxes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 10 == 9:
        print(f"{it}: {loss.item():.3f}")
