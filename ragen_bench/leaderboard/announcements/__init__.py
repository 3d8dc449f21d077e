"""Announcements of runs, and the random draws that answer them."""
