# The roles that Tidegate plans and applies with in this account. Apply it in each account; name the roles in cdk.json and under aws.

variable "plan_runner_roles" {
  type        = list(string)
  description = "The outputs PlanRunnerRole and PullRequestRunnerRole of Tidegate's stack"
}

variable "apply_runner_role" {
  type        = string
  description = "The output ApplyRunnerRole of Tidegate's stack"
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
    tidegate-plan  = { runners = var.plan_runner_roles, phases = ["plan", "pull_request", "drift"], policy = "arn:aws:iam::aws:policy/ReadOnlyAccess" }
    tidegate-apply = { runners = [var.apply_runner_role], phases = ["apply"], policy = var.apply_policy }
  }
}

data "aws_iam_policy_document" "trust" {
  for_each = local.roles

  statement {
    actions = ["sts:AssumeRole", "sts:TagSession"]

    principals {
      type        = "AWS"
      identifiers = each.value.runners
    }

    condition {
      test     = "StringLike"
      variable = "aws:RequestTag/tidegate:repository"
      values   = [var.repository]
    }

    condition {
      test     = "StringLike"
      variable = "aws:RequestTag/tidegate:stack"
      values   = [var.stack]
    }

    condition {
      test     = "StringEquals"
      variable = "aws:RequestTag/tidegate:phase"
      values   = each.value.phases
    }
  }

  statement {
    actions = ["sts:SetSourceIdentity"]

    principals {
      type        = "AWS"
      identifiers = each.value.runners
    }
  }
}

resource "aws_iam_role" "tidegate" {
  for_each           = local.roles
  name               = each.key
  assume_role_policy = data.aws_iam_policy_document.trust[each.key].json
}

resource "aws_iam_role_policy_attachment" "tidegate" {
  for_each   = local.roles
  role       = aws_iam_role.tidegate[each.key].name
  policy_arn = each.value.policy
}
