"""Rules of losses and models (AD6xx)."""
