"""Lambda behind the HTTP API: receives webhooks."""

from __future__ import annotations

import os

from tidegate.vcs.webhook_function import WebhookFunction

lambda_handler = WebhookFunction(os.environ).answer
