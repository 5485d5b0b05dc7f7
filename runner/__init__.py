"""The program in the Fargate image: takes one job, runs the engine, reports the result."""
