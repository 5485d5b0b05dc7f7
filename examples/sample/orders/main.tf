terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.100"
    }
  }
  backend "s3" {
    bucket         = "tidegate-state"
    key            = "sample/orders.tfstate"
    region         = "us-east-1"
    use_lockfile   = true
    use_path_style = true
  }
}

provider "aws" {
  region = "us-east-1"
}

resource "aws_sqs_queue" "dead_letters" {
  name = "orders-dead-letters"
}

resource "aws_sqs_queue" "orders" {
  name = "orders"

  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead_letters.arn
    maxReceiveCount     = 5
  })
}

resource "aws_ssm_parameter" "queue_url" {
  name  = "/orders/queue-url"
  type  = "String"
  value = aws_sqs_queue.orders.url
}
