"""Click logs: which of the ads (links, results) shown on a page were clicked."""
