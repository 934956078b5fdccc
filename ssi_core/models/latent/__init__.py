"""Models whose score is an inner product in a latent space."""
