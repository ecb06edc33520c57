"""Flows → context cases."""
