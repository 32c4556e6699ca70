"""What all others stand on: the course of the run, how closely it is watched, who is who, where values come from."""
