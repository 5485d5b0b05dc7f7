"""An organization that fills a local cloud: for demos, for pictures, and to see pages with more than two roots."""
