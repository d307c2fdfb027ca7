"""The AppWorld domain: tasks of a data folder, played on a running server."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bench2robust.core.backend import LogEntry
from bench2robust.core.canonical import canonical
from bench2robust.core.domain import Outcome, Session
from bench2robust.core.errors import DataError, UsageError
from bench2robust.core.types import Task, ToolCall, ToolSpec, UserScript
from bench2robust.core.yaml_files import parse_yaml
from bench2robust.domains.appworld.apis import Api, gold_calls, read_apis
from bench2robust.domains.appworld.server import Server
from bench2robust.domains.appworld.world import World
from bench2robust.domains.files import field, read_json, read_text
from bench2robust.domains.guard import GuardedSession
from bench2robust.domains.recorded import GIVE_UP
from bench2robust.domains.suite import Suite
from bench2robust.domains.verdict import call_keys, matched

__all__ = ["AppWorldDomain", "load_appworld"]

_POLICY = (
    "Do what the user asks with the tools, which are the APIs of the user's apps. Passwords are in "
    "the supervisor app. When you are done, call supervisor__complete_task, with the answer if a "
    "question was asked; if it cannot be done, call give_up."
)


class _Settings(BaseModel):
    """The YAML file that ``data`` names."""

    model_config = ConfigDict(extra="forbid")

    url: str
    root: Path
    train: str = "train"
    test: str = "dev"
    apps: list[str] | None = None
    seconds: float = Field(100.0, gt=0)


class AppWorldDomain(Suite):
    """AppWorld's tasks. The server's own tests on the live state are the verdict.

    A session's delta is the list of its writes, since the server shows no state. There are no
    fallback classes, so S2 and S3 do not apply.
    """

    name = "appworld"
    transfer_tool = GIVE_UP.name
    policy = _POLICY

    def __init__(
        self, server: Server, tasks: Sequence[Task], apis: Mapping[str, Api], *texts: str
    ) -> None:
        self._server = server
        self._apis = apis
        self._specs = (*(api.spec for api in apis.values()), GIVE_UP)
        without = [task.id for task in tasks if not task.actions]
        if without:
            self.notes = (
                f"no_gold_calls: {len(without)} of {len(tasks)} tasks publish no api_calls.json, "
                f"so scripted agents have no plan for them",
            )
        super().__init__(tasks, *texts)

    def tools(self, alternatives: bool = False) -> tuple[ToolSpec, ...]:
        """Return a tool for each API; there are no alternatives."""
        return self._specs

    def session(self, task: Task, alternatives: bool = False) -> GuardedSession:
        """Return a session; the server is asked at its first call."""
        world = World(self._server, task.id, self._specs, self._apis)
        return GuardedSession(world, math.inf)  # every request has a limit of its own

    def evaluate(
        self,
        task: Task,
        session: Session,
        executed: Sequence[LogEntry],
        said: Sequence[str],
        observed: Sequence[LogEntry] | None = None,
    ) -> Outcome:
        """Judge by the task's own tests. Raises ``InfrastructureError`` if the server fails."""
        world = session.inner if isinstance(session, GuardedSession) else session
        assert isinstance(world, World)
        success = world.verdict()
        made = matched(call_keys(task.actions), executed)
        return Outcome(success, success, True, made, len(task.actions))

    def probes(self, known: str, blocked: frozenset[str]) -> Iterator[ToolCall]:
        """Yield the reads that take no arguments: the gold calls lack no other."""
        for name, api in self._apis.items():
            read = api.spec.kind == "read" and not api.spec.parameters["required"]
            if read and name not in blocked:
                yield ToolCall(name, {})


def load_appworld(data: str | None = None) -> AppWorldDomain:
    """Return the AppWorld domain.

    Args:
        data: a YAML file with the server's ``url``, and ``root``, the folder whose ``data`` holds
            the tasks (AppWorld's APPWORLD_ROOT); besides ``train`` and ``test`` (names of data
            sets, by default train and dev), ``apps`` (by default all) and ``seconds`` (how long a
            request may take, by default 100).

    Raises:
        DataError: the file or a file of the data is missing or damaged.
        InfrastructureError: the server cannot be reached.
    """
    if data is None:
        raise DataError(
            "appworld needs a running server: write a YAML file with url and root, and give it "
            "with --data FILE (see docs/benchmarks.md)"
        )
    settings = _read_settings(Path(data))
    server = Server(settings.url, settings.seconds)
    docs = server.get("/api_docs")
    apis = read_apis(docs, settings.apps, f"{settings.url}/api_docs")
    folder = settings.root / "data"
    tasks = [
        _task(server, task_id, split, apis, folder)
        for split, name in (("train", settings.train), ("test", settings.test))
        for task_id in read_text(folder / "datasets" / f"{name}.txt").split()
    ]
    return AppWorldDomain(server, tasks, apis, canonical(docs))


def _read_settings(file: Path) -> _Settings:
    try:
        return _Settings.model_validate(parse_yaml(read_text(file), str(file)))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise DataError(f"{file}: {place}: {first['msg']}") from None
    except DataError:
        raise
    except UsageError as error:
        raise DataError(str(error)) from None


def _task(server: Server, task_id: str, split: str, apis: Mapping[str, Api], folder: Path) -> Task:
    where = f"{server.url}/tasks/{task_id}"
    told: Any = field(server.get(f"/tasks/{task_id}"), "output", dict, where)
    person = field(told, "supervisor", dict, where)
    first, last, email, phone = (field(person, key, str, f"{where}.supervisor")
                                 for key in ("first_name", "last_name", "email", "phone_number")
                                 )  # fmt: skip
    about = f"My name is {first} {last}. My email is {email} and my phone number is {phone}."
    gold = folder / "tasks" / task_id / "ground_truth" / "api_calls.json"
    actions = gold_calls(read_json(gold), apis.values(), str(gold)) if gold.exists() else ()
    opening = f"{field(told, 'instruction', str, where)}\n{about}"
    flags = () if actions else ("no_gold_calls",)
    return Task(task_id, split, "plain", UserScript(opening), actions, flags=flags)
