"""Studies on tiny models: many seeds are stacked in tensors and trained together."""
