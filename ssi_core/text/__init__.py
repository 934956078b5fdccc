"""Texts: wikitext, languages, words."""
