"""Campaigns of faults against a real server: kill, fuzz, soak and outage. `python -m perf.faults NAME --help`."""
