import os

# Each test process has a core to itself: threads that share one wait for each other by spinning.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import HealthCheck, settings

# Two busy cores must not fail a property, so nothing here is measured by the clock.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
