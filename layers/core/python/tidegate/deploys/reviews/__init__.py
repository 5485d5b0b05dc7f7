"""Plan reviews: requested, decided, carried out."""
