"""Data for the measurements, made on the spot: the same bytes for the same seed."""
