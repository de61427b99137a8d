"""Brings in every kind of engine, so that `ENGINES` knows them. Importing them loads no model."""

import importlib

MODULES = ("embedded", "replay", "server", "simulated", "simulated_judge", "vllm")


def load_engine_kinds() -> None:
    """Import the modules that register their kinds; further calls cost nothing."""
    for name in MODULES:
        importlib.import_module(f"stepmill.engines.{name}")
