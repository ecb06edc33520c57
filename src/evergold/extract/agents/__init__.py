"""Sessions of coding agents → context cases: what was asked, looked at, changed, and committed in the end."""
