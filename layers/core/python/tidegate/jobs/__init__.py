"""Steps of jobs: begun, handed over, recorded, and the identity that they get."""
