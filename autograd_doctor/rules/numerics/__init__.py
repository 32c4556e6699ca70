"""Rules of numerics: NaN and Inf, divergence, gradients on their way, steps and weights (AD4xx)."""
