"""What services of AWS do by themselves and moto does not: routes, events, schedules, queues, invocations."""
