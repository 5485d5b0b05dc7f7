"""Commands in comments, and the verbs that carry them out."""
