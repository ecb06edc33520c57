"""Ingest: the stage that stores what apps send. `Ingest` is its door.

Nothing is imported here, so that the reading process (`reading_process/process.py`) loads no database.
"""
