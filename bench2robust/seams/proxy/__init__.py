"""Between an MCP client and an MCP server: a relay of raw JSON-RPC frames, and rules for them.

The relays know frames and nothing else, so they work with every version of the protocol; no SDK
is inside. A copy of each frame is parsed, and its own bytes pass on unless a rule changes it.
"""
