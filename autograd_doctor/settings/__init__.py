"""Reading settings files, and turning what a person wrote into one clear line where it is wrong."""
