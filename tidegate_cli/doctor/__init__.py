"""``tidegate doctor``: what a deploy to AWS needs, check by check."""
