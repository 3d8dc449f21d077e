"""Desk: work in a small office with tools, for a user who may change the request."""
