"""Pull requests: the record, temporary layers, comments, applying before the merge."""
