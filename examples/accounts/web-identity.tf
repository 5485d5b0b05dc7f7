# The roles that Tidegate plans and applies with in this account, by the tokens of its jobs. Apply it in each account; name the
# roles in cdk.json and under aws, with identity: web_identity.

variable "issuer" {
  type        = string
  description = "The output Issuer of Tidegate's stack without https://, such as tidegate.example.com"
}

variable "audience" {
  type        = string
  default     = "sts.amazonaws.com"
  description = "identity_audience of Tidegate's cdk.json"
}

variable "repository" {
  type        = string
  description = "The repository whose roots may work here, OWNER/NAME; * is any text"
}

variable "stack" {
  type        = string
  default     = "*"
  description = "The stack whose roots may work here; * is any text"
}

variable "apply_policy" {
  type        = string
  default     = "arn:aws:iam::aws:policy/PowerUserAccess"
  description = "What applies may do"
}

locals {
  roles = {
    tidegate-plan  = { phases = ["plan", "pull_request", "drift"], policy = "arn:aws:iam::aws:policy/ReadOnlyAccess" }
    tidegate-apply = { phases = ["apply"], policy = var.apply_policy }
  }
}

resource "aws_iam_openid_connect_provider" "tidegate" {
  url            = "https://${var.issuer}"
  client_id_list = [var.audience]
}

data "aws_iam_policy_document" "by_token" {
  for_each = local.roles

  statement {
    actions = ["sts:AssumeRoleWithWebIdentity", "sts:TagSession", "sts:SetSourceIdentity"]

    principals {
      type        = "Federated"
      identifiers = [aws_iam_openid_connect_provider.tidegate.arn]
    }

    condition {
      test     = "StringEquals"
      variable = "${var.issuer}:aud"
      values   = [var.audience]
    }

    condition {
      test     = "StringLike"
      variable = "${var.issuer}:sub"
      values   = [for phase in each.value.phases : "repo:${var.repository}:stack:${var.stack}:root:*:phase:${phase}"]
    }
  }
}

resource "aws_iam_role" "by_token" {
  for_each           = local.roles
  name               = each.key
  assume_role_policy = data.aws_iam_policy_document.by_token[each.key].json
}

resource "aws_iam_role_policy_attachment" "by_token" {
  for_each   = local.roles
  role       = aws_iam_role.by_token[each.key].name
  policy_arn = each.value.policy
}
