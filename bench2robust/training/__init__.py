"""Home of the trainer; this version holds the environments and the evaluation only."""
