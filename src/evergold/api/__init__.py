"""HTTP → workspace verb: one file per noun, no policy, no SQL, no try/except."""
