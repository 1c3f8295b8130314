"""Loopback web servers, the guards before an app, and event streams.

Knows HTTP and ASGI, and nothing of canvases. The only package that touches uvicorn.
"""
