"""Background behaviour of AWS services that moto lacks: routes, events, schedules, queues, invocations."""
