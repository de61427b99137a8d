"""Stepmill: step-level labels for process reward models, with the evidence they rest on."""

__version__ = "0.1.0"
