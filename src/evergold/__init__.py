"""Evergold."""
