"""A second process that decodes and redacts requests while this one writes. `Reader.take` is its door."""
