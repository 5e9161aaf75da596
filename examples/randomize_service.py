"""A service that randomizes records: ``KEY_FILE=survey.key uvicorn randomize_service:app``.

It sees true values, and whoever asks stores reported ones. The id comes with the request, the path
of the key from the environment. The same person with the same value always gets the same answer,
from any worker and after any restart. ``AFTER`` and ``FINGERPRINT`` hold the digest and the
fingerprint that ``/health`` stated before: a service whose plan or key would give people new noise
does not start.
"""

from __future__ import annotations

import os
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

import bistochastic as bs
import bistochastic_survey as sv

PLAN = sv.Plan(
    [
        sv.Categorical("smokes", ["yes", "no"], "randomized_response", epsilon=1),
        sv.Categorical("age", ["18-29", "30-64", "65+"], "randomized_response", epsilon=1),
    ],
    name="smoking",
    id_type="string",
)


def make_app(key: bs.KeySource, after: str) -> FastAPI:
    """Make one worker, which holds a responder."""
    responder = PLAN.responder(key=key, after=after)
    app = FastAPI()

    @app.exception_handler(RequestValidationError)
    def refuse(_request: Request, _error: RequestValidationError) -> JSONResponse:
        # What FastAPI says by itself repeats the body, which holds true values.
        must = "the body must map columns to values, or ids to such records; ids are not empty"
        return JSONResponse({"detail": must}, 422)

    @app.post("/randomize/{id}")
    def one(id: str, record: dict[str, Any]) -> dict[str, Any]:
        try:
            return responder.one(record, id=id)
        except (ValueError, TypeError) as error:
            # The sentence names the column, and never quotes a value.
            raise HTTPException(422, str(error)) from None

    @app.post("/randomize")
    def many(people: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        try:
            reported = responder.many(people.values(), ids=list(people))
        except (ValueError, TypeError) as error:
            raise HTTPException(422, str(error)) from None
        return dict(zip(people, reported, strict=True))

    @app.get("/health")
    def health() -> dict[str, str]:
        try:
            return responder.check()
        except (ValueError, OSError):
            raise HTTPException(503, "the key cannot be read") from None

    return app


if "KEY_FILE" in os.environ:
    key = bs.KeySource.env("KEY_FILE", fingerprint=os.environ.get("FINGERPRINT"))
    key.read()
    app = make_app(key, os.environ.get("AFTER", "first"))
