"""``bench2robust tasks`` and ``domains``: what there is."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from bench2robust.cli.options import DataOption, DomainOption
from bench2robust.cli.show import print_tables
from bench2robust.core.canonical import canonical
from bench2robust.core.domain import Domain
from bench2robust.core.errors import UsageError
from bench2robust.core.solvability import analyse
from bench2robust.core.types import Scenario, Task
from bench2robust.domains import domain_names, get_domain
from bench2robust.domains.conformance import examine
from bench2robust.evaluation.suite import describe_suite, full_spec, select_tasks, suite_notes
from bench2robust.evaluation.table import Table

__all__ = ["domains", "tasks"]


def domains(
    check: Annotated[
        str | None, typer.Option(help="Check one domain against the conformance suite.")
    ] = None,
    data: DataOption = None,
) -> None:
    """List the domains, with their tasks and tools, or check whether one keeps its promises.

    The check ends with exit code 1 if a clause is broken. For example:

    * `bench2robust domains`
    * `bench2robust domains --check retail`
    """
    if check is not None:
        _conformance(check, data)
        return
    if data is not None:
        raise UsageError("--data goes with --check: `bench2robust domains --check NAME --data …`.")
    rows, absent = [], []
    for name in domain_names():
        try:
            rows.append(_domain_row(name, get_domain(name)))
        except UsageError as error:  # such as a package that is not installed
            absent.append(f"{name}: {error}")
    columns = ("Domain", "Tasks", "Splits", "Tools + alternatives", "Fallback classes", "Digest")
    print_tables([Table("domains", "Domains and their built-in suites", columns, tuple(rows))])
    for note in absent:
        print(f"not available: {note}")


def _domain_row(name: str, domain: Domain) -> tuple[str, ...]:
    splits = Counter(task.split for task in domain.tasks())
    stock = len(domain.tools())
    return (
        name,
        str(sum(splits.values())),
        ", ".join(f"{n} {split}" for split, n in sorted(splits.items())),
        f"{stock} + {len(domain.tools(True)) - stock}",
        ", ".join(c.name for c in domain.classes),
        domain.digest[:12],
    )


def _conformance(name: str, data: str | None) -> None:
    verdicts = examine(get_domain(name, data))
    rows = tuple((v.clause, str(v.checks), str(v.broken), v.asks) for v in verdicts)
    columns = ("Clause", "Checks", "Broken", "What it asks")
    print_tables([Table("conformance", f"Conformance of {name}", columns, rows)])
    breaches = [f"{v.clause}: {text}" for v in verdicts for text in v.breaches]
    print("\n".join(breaches or [f"{name} keeps all {len(verdicts)} clauses."]))
    if breaches:
        raise typer.Exit(1)


def tasks(
    domain: DomainOption = None,
    data: DataOption = None,
    show: Annotated[str | None, typer.Option(help="Show one task, by its id.")] = None,
    ids: Annotated[
        str | None,
        typer.Option(help="List ids: of test, train, all, or N spread evenly (20, all:20)."),
    ] = None,
) -> None:
    """Count the tasks by split and intent, list their ids, or show one.

    For example:

    * `bench2robust tasks`
    * `bench2robust tasks --ids test:20`
    * `bench2robust tasks --show general_0007`
    """
    chosen = get_domain(domain or "retail", data)
    if show is not None:
        print(_task(chosen, chosen.task(show)))
    elif ids is not None:
        spec = full_spec(ids.strip(), builtin=data is None)
        print("\n".join(task.id for task in select_tasks(chosen, spec)))
    else:
        print_tables([_counts(chosen)])
        for note in suite_notes(chosen, describe_suite(chosen, chosen.tasks())):
            print(f"note: {note}")


def _counts(domain: Domain) -> Table:
    every = domain.tasks()
    splits = list(dict.fromkeys(task.split for task in every))
    of_intent = {intent: Counter(t.split for t in every if t.intent == intent)
                 for intent in dict.fromkeys(t.intent for t in every)}  # fmt: skip
    rows = tuple(
        (intent, *(str(counts[split]) for split in splits), str(counts.total()))
        for intent, counts in (*of_intent.items(), ("all", Counter(t.split for t in every)))
    )
    columns = ("Intent", *splits, "all")
    return Table("tasks", f"Tasks of {domain.name}", columns, rows)


def _task(domain: Domain, task: Task) -> str:
    found = analyse(domain, task)
    parts = [f"{task.id}  ({task.split}, {task.intent}{''.join(f', {f}' for f in task.flags)})"]
    parts.append(f"user: {task.user.opening}")
    parts += [f"  asked about {topic}: {text}" for topic, text in task.user.facts.items()]
    parts += [f"  changes their mind: {text}" for text in task.user.changes]
    parts += [f"gold: {call.name}({canonical(call.arguments)})" for call in task.actions]
    parts += [f"must be told: {text}" for text in task.outputs]
    parts += [
        f"S2 can block {sides.name}: {', '.join(sorted(sides.primary))} | "
        f"{', '.join(sorted(sides.alternative))}"
        for sides in found.switchable
    ]
    if found.impossible:
        parts.append(f"S3 blocks: {', '.join(sorted(found.impossible))}")
    scenarios: tuple[Scenario, ...] = ("S2", "S3")
    parts += [f"no {s}: {reason}" for s in scenarios if (reason := found.reason(s))]
    return "\n".join(parts)
