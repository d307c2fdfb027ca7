"""A stand-in for ``appworld serve environment``: its protocol, with an app of our own.

It is no AppWorld: it knows two small apps, and reads the code that it is sent as exactly one call
with literal arguments, so that anything else is found out.
"""

from __future__ import annotations

import ast
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = Any


def _parameter(name: str, kind: str = "string", required: bool = True) -> dict[str, Any]:
    return {"name": name, "type": kind, "required": required, "description": f"The {name}.",
            "default": None, "constraints": []}  # fmt: skip


def _doc(app: str, api: str, method: str, path: str, *parameters: dict[str, Any]) -> dict[str, Any]:
    return {"app_name": app, "api_name": api, "path": path, "method": method,
            "description": f"{api} of {app}.", "parameters": list(parameters),
            "response_schemas": {"success": "", "failure": ""}}  # fmt: skip


DOCS = {
    "supervisor": {
        "show_account_passwords": _doc("supervisor", "show_account_passwords", "GET",
                                       "/account_passwords"),
        "complete_task": _doc("supervisor", "complete_task", "POST", "/message",
                              _parameter("answer", "string", False),
                              _parameter("status", "string", False)),
    },
    "tunes": {
        "login": _doc("tunes", "login", "POST", "/auth/token", _parameter("username"),
                      _parameter("password")),
        "show_songs": _doc("tunes", "show_songs", "GET", "/songs", _parameter("access_token")),
        "like_song": _doc("tunes", "like_song", "POST", "/songs/{song_id}/like",
                          _parameter("song_id", "integer"), _parameter("access_token")),
    },
}  # fmt: skip
PERSON = {"first_name": "Ida", "last_name": "Ray", "email": "ida@example.com",
          "phone_number": "5550100"}  # fmt: skip
TITLES = ("Rain", "Stone", "Ember")
WANTED = {f"like_{n}": n + 1 for n in range(len(TITLES))}
"""Task id to the song that must be liked."""


class World:
    """The state of the one task that the server holds."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        self.liked: list[int] = []
        self.finished = False

    def call(self, app: str, api: str, arguments: dict[str, Json]) -> Json:
        tool: Callable[..., Json] = getattr(self, f"{app}_{api}")
        return tool(**arguments)

    def supervisor_show_account_passwords(self) -> Json:
        return [{"account_name": "tunes", "password": "pa55"}]

    def supervisor_complete_task(self, answer: str = "", status: str = "success") -> Json:
        self.finished = status == "success"
        return {"message": "Done."}

    def tunes_login(self, username: str, password: str) -> Json:
        if (username, password) != ("ida@example.com", "pa55"):
            raise PermissionError('Response status code is 401:\n{"message":"Invalid credentials"}')
        return {"access_token": "tok-ida", "token_type": "Bearer"}

    def tunes_show_songs(self, access_token: str) -> Json:
        self._check(access_token)
        return [{"song_id": n, "title": t, "seconds": 180 + n} for n, t in enumerate(TITLES, 1)]

    def tunes_like_song(self, song_id: int, access_token: str) -> Json:
        self._check(access_token)
        if song_id in self.liked or not 1 <= song_id <= len(TITLES):
            raise ValueError('Response status code is 422:\n{"message":"Cannot be liked."}')
        self.liked.append(song_id)
        return {"message": "Song liked."}

    def _check(self, token: str) -> None:
        if token != "tok-ida":
            raise PermissionError('Response status code is 401:\n{"message":"Not authorized"}')


class StandIn:
    """The server, on a port of its own; ``answer`` replaces what /execute gives.

    Attributes:
        requests: path of every request, in order.
    """

    def __init__(self) -> None:
        self.world: World | None = None
        self.requests: list[str] = []
        self.answer: Callable[[], bytes] | None = None
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                stand_in.requests.append(self.path)
                if self.path == "/api_docs":
                    self.send(DOCS)
                else:
                    self.send({"output": describe(self.path.removeprefix("/tasks/"))})

            def do_POST(self) -> None:
                stand_in.requests.append(self.path)
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                try:
                    output = getattr(stand_in, self.path.removeprefix("/"))(**body)
                except Exception as error:
                    self.send({"detail": str(error)}, 500)
                    return
                if self.path == "/execute" and stand_in.answer is not None:
                    self.write(stand_in.answer(), 200)
                else:
                    self.send({"output": output})

            def send(self, value: Json, status: int = 200) -> None:
                self.write(json.dumps(value).encode(), status)

            def write(self, body: bytes, status: int) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def initialize(self, task_id: str, experiment_name: str) -> Json:
        self.world = World(task_id)
        return describe(task_id)

    def execute(self, task_id: str, code: str) -> str:
        world = self._active(task_id)
        app, api, arguments = read_call(code)
        try:
            value = world.call(app, api, arguments)
        except Exception as error:
            return f'Execution failed. Traceback:\n  File "<python-input>", line 1\n{code}\n' + (
                f"Exception: {error}"
            )
        return json.dumps(value, indent=1 if len(json.dumps(value)) >= 100 else None) + "\n"

    def evaluate(self, task_id: str, suppress_errors: bool, report: bool) -> Json:
        world = self._active(task_id)
        success = world.liked == [WANTED[task_id]] and world.finished
        return {"success": success, "difficulty": 1, "num_tests": 2, "passes": [], "failures": []}

    def _active(self, task_id: str) -> World:
        if self.world is None or self.world.task_id != task_id:
            raise RuntimeError(f"The active task world is not {task_id}")
        return self.world


def describe(task_id: str) -> Json:
    title = TITLES[WANTED[task_id] - 1]
    return {"task_id": task_id, "instruction": f"Like the song {title} on tunes.",
            "supervisor": PERSON, "datetime": "2023-05-18T12:00:00"}  # fmt: skip


def read_call(code: str) -> tuple[str, str, dict[str, Json]]:
    """Return the one call that ``print(apis.APP.API(**json.loads('…')))`` makes."""
    [statement] = ast.parse(code).body
    assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    shown = statement.value
    assert ast.unparse(shown.func) == "print" and len(shown.args) == 1 and not shown.keywords
    call = shown.args[0]
    assert isinstance(call, ast.Call) and not call.args and len(call.keywords) == 1
    given = call.keywords[0].value
    assert call.keywords[0].arg is None and isinstance(given, ast.Call)
    assert ast.unparse(given.func) == "json.loads" and len(given.args) == 1
    apis, app, api = ast.unparse(call.func).split(".")
    assert apis == "apis"
    arguments: dict[str, Json] = json.loads(ast.literal_eval(given.args[0]))
    return app, api, arguments
