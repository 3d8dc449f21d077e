"""Hugging Face models in process, with continuous batching."""
