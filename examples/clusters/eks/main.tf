locals {
  spec = yamldecode(file("${path.module}/cluster.yaml"))
  name = "eks"
}

resource "aws_eks_cluster" "main" {
  name     = local.name
  version  = local.spec.kubernetes
  role_arn = aws_iam_role.cluster.arn

  access_config {
    authentication_mode = "API"
    # Tidegate's role creates the cluster, and installs its components.
    bootstrap_cluster_creator_admin_permissions = true
  }

  vpc_config {
    subnet_ids              = var.subnet_ids
    endpoint_private_access = true
    endpoint_public_access  = true
  }

  depends_on = [aws_iam_role_policy_attachment.cluster]
}

resource "aws_eks_node_group" "main" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "main"
  node_role_arn   = aws_iam_role.nodes.arn
  subnet_ids      = var.subnet_ids
  version         = aws_eks_cluster.main.version
  instance_types  = ["m7g.large"]
  ami_type        = "AL2023_ARM_64_STANDARD"

  scaling_config {
    min_size     = 2
    desired_size = 2
    max_size     = 6
  }

  update_config {
    max_unavailable = 1
  }

  depends_on = [aws_iam_role_policy_attachment.nodes]
}

output "cluster_arn" {
  description = "Tidegate reads it, to reach the cluster."
  value       = aws_eks_cluster.main.arn
}
