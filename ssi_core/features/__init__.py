"""Features and tasks: from a collection to sparse matrices and pairs on disk."""
