"""Seams: the same faults, the same monitor and the same record between any agent and any tools."""
