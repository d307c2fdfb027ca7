"""The conformance suite: does a domain keep its promises (``core.domain.Domain``)?

For the adapter of a third party it is one test::

    from bench2robust.domains.conformance import check_domain

    def test_conformance() -> None:
        check_domain(load_mine())

and on the command line ``bench2robust domains --check mine``.
"""

from __future__ import annotations

from bench2robust.domains.conformance.suite import (
    CLAUSES,
    ConformanceError,
    Verdict,
    check_domain,
    examine,
)

__all__ = ["CLAUSES", "ConformanceError", "Verdict", "check_domain", "examine"]
