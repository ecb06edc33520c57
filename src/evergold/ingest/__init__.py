"""Ingest: the stage that stores what apps send. `Ingest` (`ingest.py`) is its door."""
