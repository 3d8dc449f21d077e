"""What is surveyed of each library: its distribution, and its environments as subjects of the kit.

A module has `PACKAGE`, the name on PyPI, and `SUBJECTS`, name -> what makes the subject, with all
that can honestly be told of it.
"""
