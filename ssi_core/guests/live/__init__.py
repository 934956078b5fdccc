"""A served index whose documents come and go: what is searched, and the file that keeps them."""
