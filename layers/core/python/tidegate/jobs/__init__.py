"""Steps of jobs: begun, dispatched, recorded, and the identity that they get."""
