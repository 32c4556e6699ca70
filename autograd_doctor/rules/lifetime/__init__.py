"""Rules of the lifetime of graphs, and of memory (AD3xx)."""
