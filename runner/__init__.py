"""The program of the Fargate tasks: takes one job, runs the engine for it, and reports.

::

    start token ─▶ take the job ─▶ clone ─▶ init, plan, show ─▶ store ─▶ report
                        └ engine and role meanwhile ┘   apply ─▶ report

It imports neither boto3 nor pydantic (docs/decisions/0020): its start is part of every deploy.

Environment, from the task definition: TIDEGATE_TABLE, TIDEGATE_ARTIFACT_BUCKET, TIDEGATE_ENGINE_ROLE,
TIDEGATE_DEFAULT_TERRAFORM, TIDEGATE_DEFAULT_TOFU; if wanted TIDEGATE_RELEASE_MIRROR,
TIDEGATE_RELEASE_KEYS, TIDEGATE_ENGINE_CACHE (directories), TIDEGATE_MASK_PATTERNS (a JSON list of
regular expressions), TIDEGATE_RUNNER_VARIABLES and TIDEGATE_RUNNER_SECRETS (names of variables for the engine, the
latter masked), TIDEGATE_STOP_SECONDS, TIDEGATE_HEARTBEAT_SECONDS, TIDEGATE_DISPATCH_SECONDS,
TIDEGATE_PROGRAM_SECONDS, TIDEGATE_LIFE_SECONDS, TIDEGATE_SILENCE_SECONDS.
From the state machine: TIDEGATE_JOB, TIDEGATE_JOB_DIGEST, TIDEGATE_START_TOKEN. The engine gets TF_VAR_*,
TF_CLI_CONFIG_FILE and the variables in ``engine_environment``, and nothing else.

Exit codes are in ``__main__`` and docs/decisions/0025.
"""
