"""Rules that features share. Every package named `rules` is pure: no environment, clock, network or AWS."""
