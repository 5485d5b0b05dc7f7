"""What talks to the world: each adapter fulfils a port and does I/O, nothing else."""
