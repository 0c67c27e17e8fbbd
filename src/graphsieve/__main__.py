"""Run the command ``graphsieve`` as ``python -m graphsieve``."""

import sys

from graphsieve.cli import main

if __name__ == "__main__":
    sys.exit(main())
