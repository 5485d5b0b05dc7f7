"""Names of roots, reading of Terraform files, tag queries."""
