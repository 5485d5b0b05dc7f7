"""Comments of people: what they ask for, and what is replied."""
