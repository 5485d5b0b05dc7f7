"""Clients of AWS that refuse."""

from __future__ import annotations

from botocore.exceptions import ClientError, EndpointConnectionError


class Refuses:
    """A client whose every call fails as AWS's clients do."""

    def __init__(self, code):
        self.code = code

    def __getattr__(self, operation):
        def call(**arguments):
            if self.code == "no connection":
                raise EndpointConnectionError(endpoint_url="https://aws.example")
            raise ClientError({"Error": {"Code": self.code, "Message": "no"}}, operation)

        return call


class Throttles:
    """A bus that does not take the first so many events."""

    def __init__(self, times):
        self.times = times

    def put_events(self, **_):
        if not self.times:
            return {"FailedEntryCount": 0, "Entries": [{"EventId": "1"}]}
        self.times -= 1
        return {"FailedEntryCount": 1, "Entries": [{"ErrorCode": "ThrottlingException"}]}
