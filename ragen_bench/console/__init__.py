"""What commands print: tables, progress bars, and dialogues in the terminal."""
