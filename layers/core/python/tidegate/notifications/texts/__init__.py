"""Messages to people and programs, in the form of each kind of destination."""
