"""Changes proposed, tried one after the other, and judged by what a run with each of them shows."""
