"""Rules of data and of evaluation (AD7xx)."""
