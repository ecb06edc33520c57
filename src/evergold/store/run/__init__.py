"""Runs in the tables: attempts, measurements, replays."""
