"""ToolMaze: a reader of its published files, with its perturbations as fault plans of ours.

Its official data could not be had where this was written: the reader follows the published
format and was tested on files of our own.
"""

from __future__ import annotations

from bench2robust.domains.toolmaze.domain import ToolMazeDomain, load_toolmaze
from bench2robust.domains.toolmaze.perturbation import LEVELS, Perturbation, perturbation

__all__ = ["LEVELS", "Perturbation", "ToolMazeDomain", "load_toolmaze", "perturbation"]
