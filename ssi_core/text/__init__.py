"""Texts: languages, words, stems."""
