"""A soak: random work and random trouble on a local cloud, then an independent look at what came of it."""
