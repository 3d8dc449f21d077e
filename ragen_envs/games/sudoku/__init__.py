"""Sudoku: fill a grid so that each row, column and box has each digit once."""
