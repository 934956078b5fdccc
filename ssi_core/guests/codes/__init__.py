"""Binary codes of texts: learn them, measure them on labelled texts, search a Hamming ball."""
