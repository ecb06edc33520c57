"""Alerts: rules over the workspace's figures, sent by webhook, written to the log and shown in the page."""
