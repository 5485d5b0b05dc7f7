"""The HTTP API and the web pages: one function answers both, on the use cases and ports that it is given."""
