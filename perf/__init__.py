"""Our own speed, measured side by side with peers and floors, in one run."""
