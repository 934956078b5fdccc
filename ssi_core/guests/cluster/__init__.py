"""Parts of a stage on the machines of a cluster."""
