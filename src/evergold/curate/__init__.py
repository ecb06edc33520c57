"""Traces → cases, by rule."""
