"""The airline of τ²-bench."""
