"""The searcher as a small HTTP service, with a page for people."""
