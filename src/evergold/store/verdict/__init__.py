"""Curation in the tables: verdicts as SQL, candidates, corrections, checks."""
