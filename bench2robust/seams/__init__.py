"""Seams: where the package meets other people's agents, tools, trainers and viewers."""
