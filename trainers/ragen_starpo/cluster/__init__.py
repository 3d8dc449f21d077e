"""The driver of many processes on one machine or more: verl's trainer on Ray."""
