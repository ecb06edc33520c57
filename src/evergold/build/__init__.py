"""Cases → frozen, hashed splits."""
