"""The use cases of what comes from outside, and of what is shown there."""

# ruff: noqa: PLC0415  # Imports stay with what needs them: a function imports only what it uses.

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tidegate.bootstrap.deploys import Deploys
from tidegate.settings import ArtifactSettings, LinkSettings

if TYPE_CHECKING:
    from tidegate.usecases.answer_button import ButtonAnswerer
    from tidegate.usecases.check_run_view import CheckRunPainter
    from tidegate.usecases.publish_check_run import CheckRunPublisher
    from tidegate.usecases.receive_push import PushReceiver
    from tidegate.usecases.refresh_line import LineRefresher


class Events(Deploys):
    """The use cases of what comes from outside, and of what is shown there."""

    @cached_property
    def check_run_painter(self) -> CheckRunPainter:
        from tidegate.usecases.check_run_view import CheckRunPainter, Links

        settings = LinkSettings.from_env(self.environ)
        bucket = ArtifactSettings.from_env(self.environ).bucket
        links = Links(settings.execution, settings.web.rstrip("/"), bucket)
        return CheckRunPainter(self.queues, self.line_boards, self.check_runs, self.artifacts, self.addresses, links)

    @cached_property
    def check_run_publisher(self) -> CheckRunPublisher:
        from tidegate.usecases.publish_check_run import CheckRunPublisher

        return CheckRunPublisher(
            self.deployments, self.check_runs, self.forge, self.announcements, self.check_run_painter
        )

    @cached_property
    def line_refresher(self) -> LineRefresher:
        from tidegate.usecases.refresh_line import LineRefresher

        return LineRefresher(
            self.queues, self.line_boards, self.deployments, self.check_runs, self.announcements, self.clock
        )

    @cached_property
    def push_receiver(self) -> PushReceiver:
        from tidegate.usecases.receive_push import PushReceiver

        return PushReceiver(self.deliveries, self.forge, self.history, self.enqueuer.enqueue)

    @cached_property
    def button_answerer(self) -> ButtonAnswerer:
        from tidegate.usecases.answer_button import ButtonAnswerer

        return ButtonAnswerer(
            self.deployments,
            self.check_runs,
            self.forge,
            self.announcements,
            self.check_run_painter,
            self.review_decider.decide,
            self.queue_unlocker.unlock,
        )
