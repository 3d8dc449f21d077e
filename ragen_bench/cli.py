"""The ragen-bench command."""
