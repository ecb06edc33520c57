"""Documents → an offline dataset that `evergold build` reads."""
