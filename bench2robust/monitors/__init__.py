"""Outcome monitors: contracts over tool results, mined from clean traces, and honest receipts."""
