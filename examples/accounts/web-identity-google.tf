# Lets Tidegate's jobs become service accounts of this project, by their tokens. Name provider and service accounts under google.

variable "issuer" {
  type        = string
  description = "The output Issuer of Tidegate's stack, such as https://tidegate.example.com"
}

variable "repository" {
  type        = string
  description = "The repository whose roots may work here, OWNER/NAME"
}

locals {
  accounts = {
    tidegate-plan  = ["plan", "pull_request", "drift"]
    tidegate-apply = ["apply"]
  }
  members = merge([for account, phases in local.accounts : { for phase in phases : "${account}/${phase}" => { account = account, phase = phase } }]...)
}

resource "google_iam_workload_identity_pool" "tidegate" {
  workload_identity_pool_id = "tidegate"
}

resource "google_iam_workload_identity_pool_provider" "tidegate" {
  workload_identity_pool_id          = google_iam_workload_identity_pool.tidegate.workload_identity_pool_id
  workload_identity_pool_provider_id = "tidegate"
  attribute_condition                = "assertion.repository == '${var.repository}'"

  # google.subject has room for 127 bytes, which subjects may exceed: the id of the job is shorter.
  attribute_mapping = {
    "google.subject"       = "assertion.jti"
    "attribute.repository" = "assertion.repository"
    "attribute.phase"      = "assertion.phase"
  }

  oidc {
    issuer_uri = var.issuer
  }
}

resource "google_service_account" "tidegate" {
  for_each   = local.accounts
  account_id = each.key
}

resource "google_service_account_iam_member" "tidegate" {
  for_each           = local.members
  service_account_id = google_service_account.tidegate[each.value.account].name
  role               = "roles/iam.workloadIdentityUser"
  member             = "principalSet://iam.googleapis.com/${google_iam_workload_identity_pool.tidegate.name}/attribute.phase/${each.value.phase}"
}
