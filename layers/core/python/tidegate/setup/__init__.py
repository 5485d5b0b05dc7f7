"""Setting up an installation: the GitHub App that its page creates."""
