"""What a check keeps of the person's files while it runs, and how everything is put back afterwards. Without torch."""
