"""The scripts are no package: they are imported from their folder."""

import sys
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "scripts"
if str(SCRIPTS) not in sys.path:
    sys.path.append(str(SCRIPTS))
