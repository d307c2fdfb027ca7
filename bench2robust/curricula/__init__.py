"""Home of training curricula; this version holds the environments and the evaluation only."""
