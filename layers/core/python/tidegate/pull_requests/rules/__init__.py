"""The record of a pull request, its checks and its comment."""
