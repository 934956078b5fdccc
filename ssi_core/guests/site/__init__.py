"""A search for a static site: files that a browser ranks by, without a server."""
