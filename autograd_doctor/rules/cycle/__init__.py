"""Rules of the step cycle: gradients cleared, used and clipped, optimizers, schedules and scalers (AD1xx)."""
