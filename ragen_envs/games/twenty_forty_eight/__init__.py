"""2048: slide tiles until equal ones have merged into a target."""
