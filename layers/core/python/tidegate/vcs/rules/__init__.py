"""Which fields of which events are used, who approved and pushed what, and how commands are read."""
