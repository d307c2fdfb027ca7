"""Clauses on what a domain is: its names, tasks and tools, before anything runs."""

from __future__ import annotations

import pickle
import re
from typing import get_args

import orjson

from bench2robust.core.domain import user_tools
from bench2robust.core.errors import UnknownNameError
from bench2robust.core.types import ToolCall, ToolKind, ToolSpec
from bench2robust.domains.conformance.check import Check
from bench2robust.domains.conformance.sample import Sample, take

__all__ = ["identity", "pickles", "tasks", "tools", "transfer"]

_HEX = re.compile(r"[0-9a-f]{8,}")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What OpenAI's interface takes for the name of a function."""


def identity(sample: Sample, check: Check) -> None:
    """Name, digest, policy and notes are there and stable; a domain is equal to itself alone."""
    domain = sample.domain
    check(isinstance(domain.name, str) and domain.name, "name must be text, not empty")
    check(_HEX.fullmatch(domain.digest), lambda: f"digest {domain.digest!r} is not hexadecimal")
    check(domain.digest == domain.digest, "digest differs from one look to the next")
    check(isinstance(domain.policy, str), "policy must be text")
    notes = domain.notes
    check(isinstance(notes, tuple) and all(isinstance(n, str) for n in notes),
          "notes must be a tuple of texts")  # fmt: skip
    by_identity = type(domain).__eq__ is object.__eq__ and type(domain).__hash__ is object.__hash__
    check(by_identity, "a domain must be compared and hashed by identity: define no __eq__")


def tasks(sample: Sample, check: Check) -> None:
    """Task ids are unique, splits are train and test, unknown names are refused."""
    domain = sample.domain
    every = domain.tasks()
    ids = [task.id for task in every]
    check(ids, "there is no task")
    check(len(set(ids)) == len(ids), "two tasks have one id")
    for task_id in ids:
        good = isinstance(task_id, str) and task_id.strip() == task_id != "" and "," not in task_id
        check(good, f"id {task_id!r:.60}: the command line takes ids apart at commas")
    for split in ("train", "test"):
        listed = [task.id for task in domain.tasks(split)]
        own = [task.id for task in every if task.split == split]
        check(listed == own, f"tasks({split!r}) are not the {split} tasks in the suite's order")
    check({task.split for task in every} <= {"train", "test"}, "a split is not train or test")
    for task in sample.tasks:
        check(domain.task(task.id) is task, f"task({task.id!r}) is another object than in tasks()")
    for what, ask in (("task", domain.task), ("split", domain.tasks)):
        try:
            ask("no such name")
        except UnknownNameError:
            check(True, "")
        else:
            check(False, f"an unknown {what} must raise UnknownNameError")


def tools(sample: Sample, check: Check) -> None:
    """Tools have a callable name, a kind and an object schema; alternatives come on top."""
    domain = sample.domain
    stock, augmented = domain.tools(), domain.tools(True)
    names = [spec.name for spec in augmented]
    check(names, "there is no tool")
    check(len(set(names)) == len(names), "two tools have one name")
    check(all(spec in augmented for spec in stock),
          "a stock tool is missing, or differs, among the tools with alternatives")  # fmt: skip
    for spec in augmented:
        _one_tool(spec, check)
    for task in sample.tasks:
        for alternatives, specs in ((False, stock), (True, augmented)):
            offered = domain.session(task, alternatives).tools
            check(all(spec in specs for spec in offered),
                  f"task {task.id}: a session with alternatives={alternatives} offers a tool that "
                  "tools() lacks")  # fmt: skip
        known = {spec.name for spec in (*domain.session(task).tools, *user_tools(domain))}
        for call in task.actions:
            check(call.name in known, f"task {task.id}: gold calls {call.name}, which is no tool")
            check(isinstance(call.arguments, dict), f"task {task.id}: gold arguments are no object")


def _one_tool(spec: ToolSpec, check: Check) -> None:
    name, schema = spec.name, spec.parameters
    check(_TOOL_NAME.fullmatch(name), f"tool name {name!r}: only A-Z a-z 0-9 _ -, 64 at most")
    check(spec.kind in get_args(ToolKind), f"{name}: kind {spec.kind!r} is unknown")
    check(spec.description.strip(), f"{name} has no description")
    properties = schema.get("properties")
    if check(schema.get("type") == "object" and isinstance(properties, dict),
             f"{name}: parameters must be an object schema with properties"):  # fmt: skip
        required = schema.get("required", [])
        check(isinstance(required, list) and set(required) <= set(properties or ()),
              f"{name}: required names a parameter that properties lack")  # fmt: skip
    try:
        orjson.dumps(spec.openai())
        check(True, "")
    except TypeError as error:
        check(False, f"{name}: the schema is not plain JSON: {error}")


def transfer(sample: Sample, check: Check) -> None:
    """The transfer tool (if there is one) is never faulted, in no class, and changes nothing."""
    domain = sample.domain
    name = domain.transfer_tool
    unfaultable = {n for n, spec in sample.specs.items() if not spec.faultable}
    members = {m for cls in domain.classes for m in cls.members}
    for spec in user_tools(domain):
        check(not spec.faultable, f"{spec.name} is the user's, and faultable")
    check(not unfaultable & members,
          f"{sorted(unfaultable & members)} can be blocked as members of a class, but are not "
          "faultable")  # fmt: skip
    if name == "":
        return
    if not check(name in sample.specs, f"transfer tool {name!r} is no tool"):
        return
    spec = sample.specs[name]
    check(not spec.faultable, f"transfer tool {name} is faultable")
    check(spec.kind == "generic", f"transfer tool {name} is of kind {spec.kind}, not generic")
    arguments = dict.fromkeys(spec.parameters.get("properties", {}), "x")
    for task in sample.tasks[:3]:
        step = take(domain.session(task), ToolCall(name, dict(arguments)))
        check(step.deltas[0] == step.deltas[1], f"{name} changes the state")


def pickles(sample: Sample, check: Check) -> None:
    """Tasks and tools survive pickling, as processes that share the work need."""
    # Only what was pickled on the same line is unpickled, so no foreign bytes are read.
    for task in sample.tasks:
        check(pickle.loads(pickle.dumps(task)) == task, f"task {task.id} changes when pickled")
    for spec in sample.specs.values():
        check(pickle.loads(pickle.dumps(spec)) == spec, f"tool {spec.name} changes when pickled")
