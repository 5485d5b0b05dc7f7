"""Plan reviews: asked for, answered, carried out."""
