"""Text in, titles out; and why."""
