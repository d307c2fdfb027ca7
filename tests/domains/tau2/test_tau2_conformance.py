"""The conformance suite on the domains of τ²-bench."""

from __future__ import annotations

from bench2robust.domains.conformance import check_domain
from bench2robust.domains.tau2 import Tau2Domain


def test_every_clause_is_kept(domain: Tau2Domain) -> None:
    verdicts = check_domain(domain)
    idle = {v.clause for v in verdicts if not v.checks}
    # No user of the telephone company must be told anything, and no gold call of its tasks reads.
    assert idle <= ({"told", "paths"} if domain.name == "telecom" else set())
