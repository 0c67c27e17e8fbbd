"""``python -m graphsieve`` is the command ``graphsieve``."""

import sys

from graphsieve.cli import main

if __name__ == "__main__":
    sys.exit(main())
