"""What commands that train print: progress bars, held-out figures and tables."""
