"""Jobs: begin, dispatch and record them, and issue their identity tokens."""
