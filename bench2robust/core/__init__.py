"""The vocabulary that every other part shares; imports nothing else of the package."""
