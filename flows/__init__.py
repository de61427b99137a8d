"""Prefect flows, tasks and deployments; no logic of their own."""
