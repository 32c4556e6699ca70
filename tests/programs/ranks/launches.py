"""A script that starts a launcher, which starts the ranks: `launches.py torchrun --nproc-per-node 2 replicas.py`."""

import subprocess
import sys

sys.exit(subprocess.run(sys.argv[1:]).returncode)
