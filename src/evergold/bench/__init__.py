"""Targets × cases → attempts → measurements."""
