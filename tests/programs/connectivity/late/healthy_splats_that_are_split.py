# guards: AD204
"""2-D Gaussian splatting of an image with densification (clone/split), pruning, opacity reset and optimizer-state surgery."""
import torch
import torch.nn as nn

SIDE = 28
yy, xx = torch.meshgrid(torch.linspace(-1, 1, SIDE), torch.linspace(-1, 1, SIDE), indexing="ij")
PIX = torch.stack([xx, yy], -1).view(-1, 2)


def target_image():
    r = PIX.norm(dim=1)
    img = torch.stack([(r < 0.6).float(), ((PIX[:, 0] + PIX[:, 1]).abs() < 0.25).float(), (torch.sin(6 * PIX[:, 0]) > 0).float() * (r > 0.7)], 1)
    return 0.1 + 0.8 * img


def inverse_sigmoid(x):
    return torch.log(x / (1 - x))


class Gaussians:
    def __init__(self, n):
        self.p = {
            "xyz": nn.Parameter(torch.rand(n, 2) * 2 - 1),
            "color": nn.Parameter(torch.randn(n, 3) * 0.1),
            "scale": nn.Parameter(torch.full((n, 2), -1.4)),
            "rot": nn.Parameter(torch.zeros(n, 1)),
            "opacity": nn.Parameter(inverse_sigmoid(torch.full((n, 1), 0.3))),
        }
        lr = dict(xyz=8e-3, color=3e-2, scale=2e-2, rot=2e-2, opacity=4e-2)
        self.opt = torch.optim.Adam([{"params": [v], "lr": lr[k], "name": k} for k, v in self.p.items()], eps=1e-15)
        self.reset_stats()

    def reset_stats(self):
        self.accum, self.denom = torch.zeros(len(self.p["xyz"])), 0

    def render(self):
        d = PIX[:, None] - self.p["xyz"][None]
        c, s = self.p["rot"].cos().T, self.p["rot"].sin().T
        u, v = c * d[..., 0] + s * d[..., 1], -s * d[..., 0] + c * d[..., 1]
        inv = torch.exp(-self.p["scale"])
        power = -0.5 * ((u * inv[:, 0]) ** 2 + (v * inv[:, 1]) ** 2)
        alpha = (torch.sigmoid(self.p["opacity"]).T * power.exp()).clamp(max=0.99)
        T = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha], 1), 1)[:, :-1]
        return (alpha * T) @ torch.sigmoid(self.p["color"])

    def _replace(self, name, tensor, state_fn):
        for g in self.opt.param_groups:
            if g["name"] == name:
                old = g["params"][0]
                st = self.opt.state.pop(old, None)
                new = nn.Parameter(tensor.clone().requires_grad_(True))
                if st is not None:
                    st["exp_avg"], st["exp_avg_sq"] = state_fn(st["exp_avg"]), state_fn(st["exp_avg_sq"])
                    self.opt.state[new] = st
                g["params"][0] = new
                self.p[name] = new

    def extend(self, extra):
        for k, v in extra.items():
            self._replace(k, torch.cat([self.p[k].detach(), v]), lambda m, v=v: torch.cat([m, torch.zeros_like(v)]))

    def keep(self, mask):
        for k in list(self.p):
            self._replace(k, self.p[k].detach()[mask], lambda m: m[mask])

    @torch.no_grad()
    def densify_and_prune(self, frac=0.25, min_opacity=0.03, big=0.2, cap=220):
        grad = self.accum / max(self.denom, 1)
        hot = grad >= torch.quantile(grad, 1 - frac)
        large = self.p["scale"].exp().max(1).values > big
        if len(grad) < cap:
            clone, split = hot & ~large, hot & large
            extra = {k: v.detach()[clone].clone() for k, v in self.p.items()}
            for _ in range(2):
                part = {k: v.detach()[split].clone() for k, v in self.p.items()}
                part["xyz"] += torch.randn_like(part["xyz"]) * part["scale"].exp()
                part["scale"] -= torch.log(torch.tensor(1.6))
                extra = {k: torch.cat([extra[k], part[k]]) for k in extra}
            n_new = len(extra["xyz"])
            self.extend(extra)
            self.keep(torch.cat([~split, torch.ones(n_new, dtype=torch.bool)]))
        self.keep(torch.sigmoid(self.p["opacity"]).squeeze(1) > min_opacity)
        self.reset_stats()

    @torch.no_grad()
    def reset_opacity(self):
        capped = torch.minimum(self.p["opacity"], inverse_sigmoid(torch.full_like(self.p["opacity"], 0.15)))
        self._replace("opacity", capped, torch.zeros_like)


torch.manual_seed(0)
target = target_image()
G = Gaussians(40)
for it in range(1, 401):
    loss = (G.render() - target).abs().mean()
    loss.backward()
    with torch.no_grad():
        G.accum += G.p["xyz"].grad.norm(dim=1)
        G.denom += 1
        if it % 60 == 0 and it <= 240:
            G.densify_and_prune()
        if it == 150:
            G.reset_opacity()
    G.opt.step()
    G.opt.zero_grad(set_to_none=True)
    if it % 50 == 0 or it == 1:
        with torch.no_grad():
            mse = (G.render() - target).pow(2).mean()
        print(f"it {it} L1 {loss.item():.4f} psnr {-10 * torch.log10(mse).item():.2f} gaussians {len(G.p['xyz'])}")
