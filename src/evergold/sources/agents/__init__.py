"""Session logs of coding agents → flows. One file per log format; what a tool call means is said in `extract/agents`."""
