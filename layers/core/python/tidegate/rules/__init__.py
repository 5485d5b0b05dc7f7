"""Rules that features share. Everything in a package named `rules` is pure: no environment, clock, network or AWS."""
