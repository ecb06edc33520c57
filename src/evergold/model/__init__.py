"""The nouns. Pure values: no clock, no file, no database, no randomness.

Everything that passes between stages, through the store, over HTTP or into a plug-in is one of these, defined once.
"""
