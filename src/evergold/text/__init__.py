"""Functions on texts that several stages need: sentences and words, citation markers, likeness, search."""
