"""The models that the trainer computes with on one device; `worker` has them."""
