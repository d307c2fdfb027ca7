"""Between an agent and its tools, wherever those are: the same faults, monitor and record."""
