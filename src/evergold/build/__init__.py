"""Cases and offline records → frozen, hashed splits; and what can be asked of them: check, verify, diff."""
