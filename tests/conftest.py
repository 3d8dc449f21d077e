from hypothesis import HealthCheck, settings

# Two busy cores must not fail a property, so nothing here is measured by the clock.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
