"""Views: from texts to sparse matrices of words."""
