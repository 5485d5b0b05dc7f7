terraform {
  backend "s3" {
    bucket         = "tidegate-local-terraform-state"
    key            = "tutorial/dev.tfstate"
    region         = "us-east-1"
    use_lockfile   = true
    use_path_style = true
  }
}

resource "terraform_data" "greeting" {
  input = "Hello from dev"
}
