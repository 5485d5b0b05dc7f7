"""Markdown and sentences that features share. Everything in a package named `texts` is pure."""
