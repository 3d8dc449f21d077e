"""What a clause means beyond a phrase of the tables."""
