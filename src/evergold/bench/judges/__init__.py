"""Judges: a question about an answer → a verdict."""
