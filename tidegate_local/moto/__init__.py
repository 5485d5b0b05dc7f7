"""Corrections of moto's differences from AWS, and its server."""
