"""Pure statistics on numpy: intervals, reducers of trials, agreement. No nouns of the product, no I/O."""
