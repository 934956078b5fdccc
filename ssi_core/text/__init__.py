"""From bytes to words."""
