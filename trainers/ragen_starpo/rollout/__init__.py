"""Rollouts by a Hugging Face model in this process."""
