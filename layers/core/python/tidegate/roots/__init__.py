"""Root modules: their names, how Terraform files name them, and queries that choose them."""
