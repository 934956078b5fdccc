"""Tasks: queries, relevant pairs, sides, from a collection to a directory and back."""
