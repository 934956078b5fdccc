"""Dumps of MediaWiki: pages, links, redirects."""
