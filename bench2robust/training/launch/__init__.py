"""Submitting a training run: Slurm, submitit, Kubernetes, SkyPilot, or this machine."""
