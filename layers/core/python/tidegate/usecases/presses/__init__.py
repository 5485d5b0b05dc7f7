"""People press buttons: decide, unlock, run again."""
