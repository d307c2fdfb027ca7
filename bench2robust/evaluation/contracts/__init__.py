"""Outcome contracts at work: recorded results read, contracts mined, measured and kept current."""
