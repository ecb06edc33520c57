"""Calling a model: where it answers, what is tried again, how many calls at once, what they cost."""
