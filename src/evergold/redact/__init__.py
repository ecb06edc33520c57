"""Private things leave a text before it is stored."""
