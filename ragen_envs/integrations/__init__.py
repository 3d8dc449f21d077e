"""Bridges to other ecosystems, one folder each."""
