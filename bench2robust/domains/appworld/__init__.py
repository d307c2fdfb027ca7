"""AppWorld: a client of ``appworld serve environment``, so that its old pins stay in its own place.

Its data could not be had where this was written: the client was tested against a stand-in of our
own that speaks the server's protocol.
"""

from __future__ import annotations

from bench2robust.domains.appworld.domain import AppWorldDomain, load_appworld

__all__ = ["AppWorldDomain", "load_appworld"]
