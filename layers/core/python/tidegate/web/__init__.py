"""The HTTP API and the web pages: one function serves both, through the verbs and ports."""
