"""Changes to the person's own source that may remove a fault: made, shown, tried, applied. Nothing needs torch."""
