"""Relevance of feeds to topics, judged from their titles, descriptions and entries."""
