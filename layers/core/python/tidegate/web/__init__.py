"""The HTTP API and the web pages: one function answers both, by the verbs, on the ports that it is given."""
