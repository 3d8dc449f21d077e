"""A run that takes about half a second, to be killed: `python -m ... DIRECTORY ORDER`."""

import sys
import time
from pathlib import Path

from ..players import Unordered
from .test_interruptions import EVALUATION, finish


class Slow(Unordered):
    def engine(self, sampling):
        engine = super().engine(sampling)
        collect = engine.collect

        def slowly():
            time.sleep(0.002)
            return collect()

        engine.collect = slowly
        return engine


if __name__ == "__main__":
    directory, order = sys.argv[1:]
    EVALUATION.config(Slow(0))  # what takes time at first only
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    finish(Path(directory), Slow(int(order)))
