"""`python -m stepmill` is the console command."""

import sys

from stepmill.cli import main

if __name__ == "__main__":
    sys.exit(main())
