"""The forge's pages: repositories, commits, check runs with working buttons, pull requests, deliveries."""
