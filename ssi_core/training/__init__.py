"""The training loop, early stopping, checkpoints, and the search of the learning rate."""
