"""A service that collects reported records: ``FOLDER=state uvicorn service:app --workers 2``.

Each worker counts what reaches it and writes its counts to a file of its own after every 100
records and when it stops. Any worker answers for all of them, because counts add up. A restarted
worker goes on in a new file. The plan is public; no key ever reaches the service.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Response

import bistochastic_survey as sv

PLAN = sv.Plan(
    [
        sv.Categorical("smokes", ["yes", "no"], "randomized_response", epsilon=1),
        sv.Categorical("age", ["18-29", "30-64", "65+"], "randomized_response", epsilon=1),
    ],
    name="smoking",
)
TABLES: list[Any] = ["smokes", "age", ("smokes", "age")]
EVERY = 100


def make_app(folder: Path) -> FastAPI:
    """Make one worker that keeps its counts in a folder."""
    collector = PLAN.collector(*TABLES)
    own = folder / f"{uuid.uuid4().hex}.json"

    def flush() -> None:
        collector.to_file(own)

    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        folder.mkdir(parents=True, exist_ok=True)
        flush()
        yield
        flush()

    app = FastAPI(lifespan=life)

    @app.get("/plan")
    def plan() -> Response:
        """The client plan, which devices fetch once: JSON as it is, not a string in JSON."""
        return Response(PLAN.client_json(), media_type="application/json")

    @app.post("/report", status_code=204)
    def report(record: dict[str, Any]) -> None:
        try:
            collector.add(record)
        except (ValueError, TypeError) as error:
            raise HTTPException(422, str(error)) from None
        if collector.records % EVERY == 0:
            flush()

    @app.get("/estimate")
    def estimate(columns: str = "smokes") -> dict[str, Any]:
        flush()
        every = (sv.Collector.from_file(path, PLAN) for path in folder.glob("*.json"))
        total = sum(every, PLAN.collector(*TABLES))
        try:
            return total.estimate(*columns.split(",")).to_dict()
        except ValueError as error:
            raise HTTPException(422, str(error)) from None

    return app


app = make_app(Path(os.environ.get("FOLDER", "state")))
