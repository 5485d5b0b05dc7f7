"""Tidegate: serverless GitOps for Terraform and OpenTofu on AWS."""
