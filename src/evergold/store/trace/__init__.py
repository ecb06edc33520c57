"""Traces in the tables: stored, searched, listed, counted, archived and forgotten."""
