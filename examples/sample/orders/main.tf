terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.100"
    }
  }
  backend "s3" {
    bucket         = "tidegate-local-terraform-state"
    key            = "sample/orders.tfstate"
    region         = "us-east-1"
    use_lockfile   = true
    use_path_style = true
  }
}

provider "aws" {
  region = "us-east-1"
}

resource "aws_sns_topic" "orders" {
  name = "orders"
}

resource "aws_cloudwatch_log_group" "orders" {
  name              = "/orders"
  retention_in_days = 30
}

resource "aws_ssm_parameter" "topic" {
  name  = "/orders/topic"
  type  = "String"
  value = aws_sns_topic.orders.arn
}
