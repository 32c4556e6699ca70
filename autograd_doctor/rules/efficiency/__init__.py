"""Rules of time and memory, as measured in the run itself (AD8xx)."""
