"""Policy sets, results, apply requirements."""
