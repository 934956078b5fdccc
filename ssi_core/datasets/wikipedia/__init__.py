"""Dumps of Wikipedia and of other wikis of MediaWiki: their pages, links and languages."""
