"""One file per verb. A use case asks ports, lets the domain decide, and stores what was decided."""
