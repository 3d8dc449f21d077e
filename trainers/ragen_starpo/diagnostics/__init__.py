"""What is watched while a model is trained."""
