"""From the CDK app to what moto deploys."""
