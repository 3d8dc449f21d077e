"""`python -m ragen_starpo`, the same as the command `ragen-train`."""

import sys

from ragen_starpo.cli import main

if __name__ == "__main__":
    sys.exit(main())
