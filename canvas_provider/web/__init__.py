"""The web app behind one open instance: its page, its state, its actions.

Knows HTTP and canvases, and nothing of Copilot: an instance comes from whoever opened it.
"""
