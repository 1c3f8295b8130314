"""JSON-RPC 2.0 over a byte stream, and nothing of Copilot.

`framing` and `connection` are sans-IO; `peer` and `transports` do the waiting, on asyncio; `stdio`
takes the process's own descriptors. Import from where a thing lives: the first two and `stdio` load
no asyncio, so that a provider can send its handshake before it pays for that.
"""
