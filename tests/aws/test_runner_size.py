"""What of a task's size may be chosen when it is started, and what its definition alone says."""

from __future__ import annotations

import botocore.session


def test_ecs_knows_the_parts_of_a_task_that_are_overridden():
    members = botocore.session.get_session().get_service_model("ecs").shape_for("TaskOverride").members
    assert members["cpu"].type_name == members["memory"].type_name == "string"
    assert members["ephemeralStorage"].members["sizeInGiB"].type_name == "integer"
    assert "runtimePlatform" not in members, "then an architecture can be chosen for each task"
