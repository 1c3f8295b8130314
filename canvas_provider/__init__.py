"""The Python framework for GitHub Copilot canvas extensions."""

__version__ = "0.1.0"
