"""``python -m amclust`` is the command line, like ``amclust``."""

import sys

from amclust.cli import main

if __name__ == "__main__":
    sys.exit(main())
