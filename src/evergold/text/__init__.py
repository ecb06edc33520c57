"""What several stages ask of a text: its sentences and words, its citation markers, what it is like, where it is found."""
