"""Supervised Semantic Indexing: learning to rank text from links, clicks and translations."""
