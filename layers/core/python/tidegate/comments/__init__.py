"""Commands in comments, each with the verb that carries it out."""
