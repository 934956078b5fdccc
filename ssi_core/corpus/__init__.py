"""Sources of texts and relations, one file each."""
