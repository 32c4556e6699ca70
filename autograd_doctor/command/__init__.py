"""What `doctor` does for each of its commands, between the command line and the parts that do the work."""
