"""Rules of deployments, queues, gates and jobs."""
