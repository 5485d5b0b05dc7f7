"""The rules. Nothing here reads the environment, a clock, the network or AWS."""
