"""What the workspace shows → people who should know: rules, webhook, log, page."""
