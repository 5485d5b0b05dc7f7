terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.100"
    }
  }
  backend "s3" {
    bucket         = "tidegate-local-terraform-state"
    key            = "sample/network.tfstate"
    region         = "us-east-1"
    use_lockfile   = true
    use_path_style = true
  }
}

provider "aws" {
  region = "us-east-1"
}

resource "aws_vpc" "main" {
  cidr_block = "10.20.0.0/16"

  tags = {
    Name = "sample"
  }
}

resource "aws_security_group" "web" {
  name        = "web"
  description = "HTTPS from inside the network"
  vpc_id      = aws_vpc.main.id
}

output "vpc_id" {
  value = aws_vpc.main.id
}
