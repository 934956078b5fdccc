"""Feeds: their reading, and their relevance to topics by titles, descriptions and entries."""
