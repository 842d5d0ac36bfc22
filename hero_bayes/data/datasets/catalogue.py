"""What is known of each bundled data set."""

from dataclasses import dataclass

__all__ = ["GENERATION_SETS", "LABEL_SETS", "GenerationSet", "LabelSet"]


@dataclass(frozen=True)
class LabelSet:
    """A bundled table of labels; the field names are columns of `available`."""

    name: str
    items: int
    labelers: int
    labels: int
    gold: int
    licence: str
    source: str
    citation: str
    covariates: tuple[str, ...]
    abstain: tuple[int, ...]
    about: str
    changes: str
    families: bool = False
    kind: str = "labels"


@dataclass(frozen=True)
class GenerationSet:
    """A bundled table of generations; the field names are columns of `available`."""

    name: str
    prompts: int
    models: int
    generations: int
    licence: str
    source: str
    citation: str
    about: str
    changes: str
    kind: str = "generations"


LABEL_SETS = {
    "dices350": LabelSet(
        name="dices350",
        items=350,
        labelers=123,
        labels=40_356,
        gold=350,
        licence="CC BY 4.0 (Google LLC)",
        source="https://github.com/google-research-datasets/dices-dataset",
        citation=(
            "Aroyo et al. (2023). DICES Dataset: Diversity in Conversational AI Evaluation for "
            "Safety. arXiv:2306.11247"
        ),
        covariates=("n_turns", "context_chars", "response_chars", "file_order"),
        abstain=(2,),
        about=(
            "Safety of the last reply in 350 adversarial conversations with a chatbot: 123 crowd "
            "raters judge every conversation (1 unsafe, 0 not unsafe, unsure an abstention); gold "
            "is the verdict of an expert panel."
        ),
        changes=(
            "texts, all answers but the overall verdict, and raters' demographic data left out; "
            "lengths of the texts added; raters numbered by the position of their rating; all "
            "raters kept"
        ),
    ),
    "llmbar": LabelSet(
        name="llmbar",
        items=419,
        labelers=36,
        labels=15_032,
        gold=419,
        licence="MIT (Copyright (c) 2023 Princeton Natural Language Processing)",
        source="https://github.com/princeton-nlp/LLMBar",
        citation=(
            "Zeng et al. (2023). Evaluating Large Language Models at Evaluating Instruction "
            "Following. arXiv:2310.07641"
        ),
        covariates=("output_1_chars", "output_2_chars"),
        abstain=(),
        about=(
            "Which of two outputs follows the instruction (1: the first, 0: the second), for 419 "
            "pairs by 36 judges: six language models, three prompts, both orders of the outputs. "
            "Judges of one model form a family. Gold is the authors' verdict. On the 319 "
            "adversarial pairs 22 of the judges are right less than half of the time."
        ),
        changes=(
            "3 of the 11 prompting methods kept; instructions, outputs and the judges' answers "
            "left out, but for the verdicts and the lengths of the outputs"
        ),
        families=True,
    ),
}
GENERATION_SETS = {
    "game24_gpt4": GenerationSet(
        name="game24_gpt4",
        prompts=100,
        models=2,
        generations=20_000,
        licence="MIT (Copyright (c) 2023 Shunyu Yao)",
        source="https://github.com/princeton-nlp/tree-of-thought-llm",
        citation=(
            "Yao et al. (2023). Tree of Thoughts: Deliberate Problem Solving with Large Language "
            "Models. arXiv:2305.10601"
        ),
        about=(
            "Game of 24, puzzles 900 to 999: 100 generations of GPT-4 at temperature 0.7 for each "
            "puzzle, by chain of thought (gpt-4+cot) and by input and output alone (gpt-4+io). "
            "Most puzzles are never solved. A puzzle has many right answers."
        ),
        changes="two log files put into one table of final expressions; everything else left out",
    ),
    "cruxeval": GenerationSet(
        name="cruxeval",
        prompts=800,
        models=3,
        generations=24_000,
        licence="MIT (Copyright (c) Meta Platforms, Inc. and affiliates.)",
        source="https://github.com/facebookresearch/cruxeval",
        citation=(
            "Gu et al. (2024). CRUXEval: A Benchmark for Code Reasoning, Understanding and "
            "Execution. arXiv:2401.03065"
        ),
        about=(
            "Output prediction for 800 short Python functions: 10 generations at temperature 0.8 "
            "for each function by gpt-4-0613+cot, gpt-3.5-turbo-0613 and codellama-34b. The right "
            "answer comes from running the code, so no key is wrong. The generations of "
            "codellama-34b are ordered: accuracy falls from .445 at index 0 to .286 at index 9, so "
            "the index is no run and a prefix is no random sample."
        ),
        changes=(
            "3 of the models and 1 temperature kept; the answers parsed from the generations, with "
            "whitespace collapsed and cut at 80 characters"
        ),
    ),
}
