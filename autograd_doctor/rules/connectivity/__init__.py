"""Rules of connectivity: what a loss reaches, and what it does not (AD2xx)."""
