"""Upkeep of a workspace: traffic figures, archives of old traces, erasure, backups."""
