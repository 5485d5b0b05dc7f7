"""What moto does differently from AWS, put right, and how it is served."""
