"""Outside → traces and flows: one file per place data comes from."""
