"""What is evaluated and how, as options say it: of a command line, or of a call in Python."""
