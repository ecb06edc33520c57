"""Flows → context cases. `evergold.extract_cases(source)` streams the cases of a source of flows."""
