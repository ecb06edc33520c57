"""A trace → scores that need no code in the app."""
