"""`python -m ragen_bench`, the same as the command."""

import sys

from ragen_bench.cli import main

if __name__ == "__main__":
    sys.exit(main())
