"""Agents that are model weights on this machine, and the engine that generates for them.

torch and transformers are imported when a checkpoint is loaded: ``pip install
'bench2robust[train]'`` brings them. Rollouts of training generate through the same backend.
"""

from bench2robust.agents.checkpoint.backend import (
    Backend,
    Generation,
    OutOfMemoryError,
    Request,
    generate_halving,
)
from bench2robust.agents.checkpoint.batching import Batcher
from bench2robust.agents.checkpoint.files import Checkpoint, find_checkpoint, fingerprint
from bench2robust.agents.checkpoint.generating import TransformersBackend
from bench2robust.agents.checkpoint.line import CheckpointLine
from bench2robust.agents.checkpoint.loading import LoadError, load_backend
from bench2robust.agents.checkpoint.sampling import Sampling
from bench2robust.agents.checkpoint.template import Template

__all__ = [
    "Backend",
    "Batcher",
    "Checkpoint",
    "CheckpointLine",
    "Generation",
    "LoadError",
    "OutOfMemoryError",
    "Request",
    "Sampling",
    "Template",
    "TransformersBackend",
    "find_checkpoint",
    "fingerprint",
    "generate_halving",
    "load_backend",
]
