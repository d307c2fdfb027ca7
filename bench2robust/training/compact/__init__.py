"""The small demo: a world of short tasks, in words that a very small model can learn.

``words`` and ``aliases`` are the notation, ``view`` turns episodes into it and turns of the agent
into actions, ``tokens`` makes token ids of it, ``demonstrations`` and ``copying`` are what a new
model learns from before there is any reward.
"""
