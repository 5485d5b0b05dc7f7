"""A deployment on its way: plan, apply, end, and what people see of it."""
