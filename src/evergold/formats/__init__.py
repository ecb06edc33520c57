"""Bytes to nouns and back, lossless: one file per wire or file format."""
