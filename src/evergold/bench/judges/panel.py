"""Old name of entry points, for environments that were installed before they moved; remove after `make setup`."""

from evergold.judge.names import make_panel as make_panel
