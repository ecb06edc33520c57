"""How long answers are graded: examples made by rule, and the fit of model and words on them."""
