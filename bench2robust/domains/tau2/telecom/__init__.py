"""The telephone company of τ²-bench."""
