"""The demo: trained agents from scratch on two cores."""
