"""Classic reinforcement learning on ``Bench2Robust-RetailRecovery``, with Stable-Baselines3."""
