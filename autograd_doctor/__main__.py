"""`python -m autograd_doctor` equals `doctor`."""

from autograd_doctor.cli import main

if __name__ == "__main__":
    main()
