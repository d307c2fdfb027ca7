"""The groups of training settings; each is one block of a configuration file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from bench2robust.domains import domain_names
from bench2robust.evaluation.chat_settings import ChatSettings
from bench2robust.evaluation.settings import MOST, Settings, check_keys, choice, known
from bench2robust.injectors.scenarios import S2Classes, Side

__all__ = [
    "Checkpoints",
    "Count",
    "Episodes",
    "Group",
    "Hardware",
    "HeldOut",
    "Lora",
    "Model",
    "Optim",
    "Ppo",
    "Rate",
    "Reward",
    "Rollout",
    "Scratch",
    "Share",
    "block",
]

Count = Annotated[int, Field(ge=1, le=MOST)]
Share = Annotated[float, Field(ge=0, le=1)]
Rate = Annotated[float, Field(gt=0, le=1)]


def block(settings: type[Settings], name: str) -> BeforeValidator:
    """Check the keys of a nested group, so that a wrong one is answered with the nearest."""

    def check(value: Any) -> Any:
        if isinstance(value, dict):
            check_keys(settings, value, f"setting in {name}")
        return {} if value is None and name not in _OPTIONAL else value

    return BeforeValidator(check)


_OPTIONAL = frozenset({"model.lora", "model.scratch", "episodes.user_chat"})


class Lora(Settings):
    """Low-rank adapters in place of training every weight.

    Attributes:
        targets: names of the layers that get one; ``all-linear`` for every linear layer.
    """

    rank: Count = 32
    alpha: Count = 64
    dropout: Share = 0.0
    targets: str | tuple[str, ...] = "all-linear"


class Scratch(Settings):
    """A small decoder made anew, with tied embeddings; its vocabulary comes with the view."""

    hidden: Count = 128
    layers: Count = 3
    heads: Count = 4
    feed_forward: Count = 256


DType = Literal["bfloat16", "float32"]


class Model(Settings):
    """The policy.

    Attributes:
        path: a folder, or a name on the model hub; empty only with ``scratch``.
        scratch: a new small model instead.
        dtype: what the weights are computed in. Those that are trained are kept in float32: in
            bfloat16 a small learning rate would change nothing.
        lora: adapters; null trains every weight.
        checkpointing: recompute activations in the backward pass, which saves their memory.
    """

    path: str = ""
    scratch: Annotated[Scratch | None, block(Scratch, "model.scratch")] = None
    dtype: Annotated[DType, choice("dtype", DType)] = "bfloat16"
    lora: Annotated[Lora | None, block(Lora, "model.lora")] = None
    checkpointing: bool = True


View = Literal["chat", "compact"]


class Episodes(Settings):
    """What the policy trains on.

    Attributes:
        domain: the benchmark domain.
        data: the folder of a benchmark's own data; by default the built-in suite.
        tasks: training tasks: ``train``, ``train:N`` or ids; held-out tasks are refused.
        validation: how many of them are set aside to choose checkpoints by; the tasks that
            results are reported on are never used for that.
        view: how an episode looks to the policy: ``chat`` messages with the tools' schemas, or the
            ``compact`` words of the small demo.
        faults: the fault profile; a curriculum's phase lowers its budget.
        alternatives: whether the alternative tools are offered, to clean members as well.
        side: which side of a class S2 blocks.
        s2_classes: whether S2 blocks one class or every class that it can.
        memory: the memory block of the training prompt, such as ``none`` or ``full``.
        user: who the customer is: ``scripted`` or ``chat:MODEL``.
        user_chat: the endpoint of a user that is a model.
        max_steps: how many actions (calls and messages) an episode has.
    """

    domain: Annotated[str, known("domain", domain_names)] = "retail"
    data: str | None = None
    tasks: str = "train"
    validation: int = Field(default=64, ge=0, le=MOST)
    view: Annotated[View, choice("view", View)] = "chat"
    faults: str | dict[str, Any] = "paper"
    alternatives: bool = True
    side: Annotated[Side, choice("side", Side)] = "random"
    s2_classes: Annotated[S2Classes, choice("s2_classes value", S2Classes)] = "one"
    memory: str = "none"
    user: str = "scripted"
    user_chat: Annotated[ChatSettings | None, block(ChatSettings, "episodes.user_chat")] = None
    max_steps: int = Field(default=25, ge=1, le=MOST)


Mix = Literal["hybrid", "all_clean", "all_injected"]
Faults = Literal["independent", "synchronous"]
Normalisation = Literal["unified", "split"]


class Group(Settings):
    """The rollouts of one prompt.

    Attributes:
        size: rollouts per prompt (table 12: 16).
        clean: how many of a hybrid group, the first ones, are clean (table 12: 8).
        mix: ``hybrid``, or one kind only.
        faults: whether injected members have ``independent`` faults, or are ``synchronous``: they
            share one fault plan, so that luck with faults is no part of their advantage.
        normalisation: advantages over the whole group (``unified``), or over its clean and its
            injected members apart (``split``).
        min_std: groups whose rewards have a smaller standard deviation are left out of the loss.
    """

    size: int = Field(default=16, ge=2, le=MOST)
    clean: int = Field(default=8, ge=0, le=MOST)
    mix: Annotated[Mix, choice("mix", Mix)] = "hybrid"
    faults: Annotated[Faults, choice("kind of faults", Faults)] = "independent"
    normalisation: Annotated[Normalisation, choice("normalisation", Normalisation)] = "unified"
    min_std: float = Field(default=0.01, ge=0, le=1)

    @property
    def clean_members(self) -> int:
        """How many members, the first ones, are clean."""
        return {"hybrid": self.clean, "all_clean": self.size, "all_injected": 0}[self.mix]


Repetition = Literal["episode", "after_success"]


class Reward(Settings):
    """The reward: equation 2 and what is studied beside it.

    Attributes:
        partial: whether a task that is not completed earns its share of partial credit, as in
            equation 2; without it only success counts, as in vanilla GRPO (appendix M).
        abstention: whether a correct abstention in S3 earns 1.0 · eff · rep; off in the paper.
        permuted: a control: rewards are dealt out at random within each group, so that nothing can
            be learned from them.
        repetition: identical calls count over the whole ``episode`` (table 12), or only
            ``after_success``: a call repeated because it failed is not held against the policy.
    """

    partial: bool = True
    abstention: bool = False
    permuted: bool = False
    repetition: Annotated[Repetition, choice("repetition", Repetition)] = "episode"


Schedule = Literal["constant", "linear", "cosine"]


class Optim(Settings):
    """The optimizer and the loss.

    Attributes:
        learning_rate: of AdamW.
        schedule: how it goes on after ``warmup`` steps.
        prompts: prompts per iteration (table 12: 16); with the group size, the global batch.
        epochs: passes over the training tasks.
        steps: iterations in all; overrides ``epochs``.
        updates: optimizer steps per iteration, each on an equal part of the batch.
        micro_batch: sequences per device and backward pass.
        kl: coefficient of the KL term (k3, ``low_var_kl``).
        epsilon_low: how far a probability ratio may fall before it is clipped.
        epsilon_high: how far it may rise.
    """

    learning_rate: Rate = 2e-6
    schedule: Annotated[Schedule, choice("schedule", Schedule)] = "constant"
    warmup: int = Field(default=0, ge=0, le=MOST)
    weight_decay: float = Field(default=0.0, ge=0, le=1)
    max_grad_norm: float = Field(default=1.0, gt=0, le=MOST)
    prompts: Count = 16
    epochs: float = Field(default=3.0, gt=0, le=MOST)
    steps: int | None = Field(default=None, ge=1, le=MOST)
    updates: Count = 1
    micro_batch: Count = 1
    kl: float = Field(default=0.02, ge=0, le=MOST)
    epsilon_low: float = Field(default=0.20, gt=0, lt=1)
    epsilon_high: float = Field(default=0.28, gt=0, le=MOST)


Engine = Literal["transformers", "vllm"]


class Rollout(Settings):
    """How episodes are generated.

    Attributes:
        engine: ``transformers``, or ``vllm`` in the training processes (colocate).
        response_tokens: most tokens of one turn (table 12: 8192).
        context: most tokens of an episode, prompt included (table 12: 32768).
        vllm_memory: share of each device that vLLM takes.
        infra_share: largest share of members that may be masked because something around the
            agent failed; above it the run stops with a checkpoint.
    """

    engine: Annotated[Engine, choice("rollout engine", Engine)] = "transformers"
    temperature: float = Field(default=1.0, gt=0, le=10)
    top_p: Rate = 1.0
    response_tokens: Count = 8192
    context: int = Field(default=32_768, ge=64, le=MOST)
    vllm_memory: float = Field(default=0.4, gt=0, lt=1)
    infra_share: Share = 0.25


class Ppo(Settings):
    """Proximal policy optimisation on ``Bench2Robust-RetailRecovery``.

    Attributes:
        steps: decisions in all.
        environments: episodes played side by side.
        horizon: decisions per environment and update.
        hidden: units of each layer of policy and value networks.
        entropy: coefficient of the entropy bonus.
        evaluation: episodes, on held-out tasks, of the contest at the end.
    """

    steps: Count = 500_000
    environments: Count = 64
    horizon: Count = 64
    epochs: Count = 10
    batch: Count = 1024
    learning_rate: Rate = 1e-3
    hidden: tuple[Count, ...] = (64, 64)
    gamma: Rate = 1.0
    gae_lambda: Rate = 0.95
    entropy: float = Field(default=0.01, ge=0, le=MOST)
    evaluation: Count = 2000


class Checkpoints(Settings):
    """What is kept, and what is measured on the way.

    Attributes:
        every: iterations between checkpoints.
        keep: how many of them stay, besides the best.
        evaluate_every: iterations between evaluations on the validation tasks; 0 for none.
        report_to: where the metrics of each step go besides the run folder.
    """

    every: Count = 10
    keep: Count = 2
    evaluate_every: int = Field(default=0, ge=0, le=MOST)
    report_to: tuple[Literal["tensorboard", "wandb", "trackio"], ...] = ()


def _once(values: tuple[float, ...]) -> tuple[float, ...]:
    if len(set(values)) < len(values):
        raise ValueError("give each temperature once")
    return values


class HeldOut(Settings):
    """The examination at the end, on held-out tasks, of the policy before and after.

    Attributes:
        tasks: so many held-out tasks in each mode (clean, S1, S2, S3); 0 for no examination.
        seed: of their faults.
        faults: the fault profile, such as one with types that training left out; by default that
            of the episodes.
        temperatures: how the policy is sampled; 0 takes the likeliest token.
    """

    tasks: int = Field(default=0, ge=0, le=MOST)
    seed: int = Field(default=0, ge=0, lt=2**31)
    faults: str | dict[str, Any] | None = None
    temperatures: Annotated[
        tuple[Annotated[float, Field(ge=0, le=10)], ...], Field(min_length=1), AfterValidator(_once)
    ] = (1.0, 0.0)


class Hardware(Settings):
    """What the run is planned for; the estimates and the job script go by it.

    Attributes:
        name: of the accelerator, for people.
        nodes: machines.
        devices: accelerators of each; 0 for the CPU.
        memory: of each accelerator, in GB.
        teraflops: what each reaches at best in the dtype of the model, in 10¹² operations a second.
        bandwidth: of its memory, in 10⁹ bytes a second.
    """

    name: str = "H100"
    nodes: Count = 1
    devices: int = Field(default=0, ge=0, le=1024)
    memory: float = Field(default=80.0, gt=0, le=MOST)
    teraflops: float = Field(default=989.0, gt=0, le=MOST)
    bandwidth: float = Field(default=3350.0, gt=0, le=MOST)

    @property
    def ranks(self) -> int:
        """Training processes."""
        return self.nodes * max(1, self.devices)
