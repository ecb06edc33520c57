"""Measurements → reports, comparisons and gates."""
