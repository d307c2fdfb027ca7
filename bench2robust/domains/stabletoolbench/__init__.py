"""StableToolBench: a reader of its solvable queries and its cache of recorded responses.

The cache could not be had where this was written: the reader follows the published format and was
tested on files of our own.
"""

from __future__ import annotations

from bench2robust.domains.stabletoolbench.domain import StableToolBenchDomain, load_stabletoolbench

__all__ = ["StableToolBenchDomain", "load_stabletoolbench"]
