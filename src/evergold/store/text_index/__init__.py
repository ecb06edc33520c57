"""Index the words of traces for search, in batches: `learn_words` indexes those that wait."""
