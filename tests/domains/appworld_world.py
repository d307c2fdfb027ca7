"""Makes a small world for the real AppWorld server, with AppWorld's own classes.

Run by the Python of an environment with ``appworld`` (after ``appworld install``), in an empty
folder: the benchmark's data cannot be had everywhere, but its server can. The tasks are ours; the
database schema, the APIs, the recording of the requests and the evaluation are AppWorld's.
"""

from __future__ import annotations

import json
import os
from typing import Any

TITLES = ("Plan", "Recipe", "Packing")
PERSON = {
    "first_name": "Ida",
    "last_name": "Ray",
    "email": "ida@example.com",
    "phone_number": "5550100123",
}
PASSWORD = "pa55word"
SOLUTION = """
passwords = apis.supervisor.show_account_passwords()
token = apis.simple_note.login(username="ida@example.com", password=passwords[0]["password"])
token = token["access_token"]
notes = apis.simple_note.search_notes(access_token=token)
note_id = [n["note_id"] for n in notes if n["title"] == "{title}"][0]
note = apis.simple_note.show_note(note_id=note_id, access_token=token)
apis.simple_note.create_note(title="Copy", content=note["content"], access_token=token)
apis.supervisor.complete_task(status="success")
"""
EVALUATION = """
def evaluate(test, public_data, private_data, main_user, models, ground_truth_answer):
    notes = models.end.simple_note.Note.all()
    original = [n for n in notes if n.title == public_data["title"]]
    with test("the note was copied once"):
        copies = [n for n in notes if n.title == "Copy"]
        test.case(len(copies), "==", 1)
        test.case(copies[0].content, "==", original[0].content)
    with test("no other note was made"):
        test.case(len(notes), "==", public_data["notes"] + 1)
    with test("the task was completed"):
        test.case(models.end.supervisor.Task.all()[0].status, "==", "success")
"""
REQUIREMENTS = ("the note was copied once", "no other note was made", "the task was completed")


def write(path: str, value: Any) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(value if isinstance(value, str) else json.dumps(value))


def write_docs() -> None:
    from appworld.apps import get_all_apps
    from appworld.collections.api_docs import ApiDocCollection

    docs = ApiDocCollection.build()
    for app in get_all_apps(skip_admin=True):
        plain = {name: json.loads(json.dumps(doc, default=str)) for name, doc in docs[app].items()}
        marked = {name: {**doc, "canary_string": ""} for name, doc in plain.items()}
        write(f"data/api_docs/standard/{app}.json", marked)


def write_task(task_id: str, title: str) -> None:
    from appworld.apps import get_all_apps
    from appworld.collections.models import ModelCollection
    from appworld.common.constants import DB_VERSION

    folder = f"data/tasks/{task_id}"
    instruction = f"Copy my note '{title}' into a new note with the title 'Copy'."
    specs = {"db_version": DB_VERSION, "instruction": instruction, "supervisor": PERSON,
             "datetime": "2023-05-18T12:00:00"}  # fmt: skip
    write(f"{folder}/specs.json", specs)
    os.makedirs(f"{folder}/dbs")
    apps = get_all_apps(skip_admin=False)
    models = ModelCollection.load(to_db_home_path=f"{folder}/dbs", load_apps=apps, create_db=True)
    boss = models.supervisor.Supervisor.create_save(**PERSON, birthday="1990-01-01", sex="female")
    models.supervisor.Task.create_save(supervisor_id=boss.id, instruction=instruction)
    models.supervisor.AccountPassword.create_save(
        supervisor_id=boss.id, account_name="simple_note", password=PASSWORD
    )
    user = models.simple_note.User.create_save(
        first_name="Ida", last_name="Ray", email=PERSON["email"], password=PASSWORD, verified=True
    )
    for number, name in enumerate(TITLES):
        models.simple_note.Note.create_save(
            user_id=user.id, title=name, content=f"The code is {4711 + number}."
        )
    truth = f"{folder}/ground_truth"
    numbers = {"difficulty": 1, "mode": "minimal", "num_apps": 2, "num_apis": 6,
               "num_api_calls": 6, "num_solution_code_lines": 8}  # fmt: skip
    write(f"{truth}/metadata.json", numbers)
    write(f"{truth}/public_data.json", {"title": title, "notes": len(TITLES)})
    write(f"{truth}/private_data.json", {})
    write(f"{truth}/answer.json", "null")
    write(f"{truth}/evaluation.py", EVALUATION)
    labelled = [{"requirement": r, "label": "no_op_fail"} for r in REQUIREMENTS]
    write(f"{truth}/test_data.json", labelled)


def record_solution(task_id: str, title: str) -> None:
    from appworld.environment import AppWorld

    with AppWorld(task_id=task_id, experiment_name="gold") as world:
        output = world.execute(SOLUTION.format(title=title))
        assert "Execution failed" not in output, output
        assert world.evaluate(suppress_errors=False).success
    with open(f"experiments/outputs/gold/tasks/{task_id}/logs/api_calls.jsonl") as file:
        calls = [json.loads(line) for line in file if line.strip()]
    write(f"data/tasks/{task_id}/ground_truth/api_calls.json", calls)


def main() -> None:
    """Write the world into the working directory."""
    from appworld.apps.model_lib import CachedDBHandler

    write_docs()
    ids = {f"copy{n}_1": title for n, title in enumerate(TITLES)}
    for task_id, title in ids.items():
        write_task(task_id, title)
        CachedDBHandler.reset()
    write("data/datasets/train.txt", "\n".join(list(ids)[:2]) + "\n")
    write("data/datasets/dev.txt", list(ids)[2] + "\n")
    for task_id, title in ids.items():
        record_solution(task_id, title)


if __name__ == "__main__":
    main()
