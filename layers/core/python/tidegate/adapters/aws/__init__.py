"""A small AWS client on the standard library, for programs whose start counts."""
