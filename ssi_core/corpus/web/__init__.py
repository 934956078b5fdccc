"""Pages of a folder, and feeds."""
