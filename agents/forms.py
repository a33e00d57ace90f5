"""The forms of an agent's specification, as the command line takes them; light to import."""

FORMS = (
    "llama",
    "llama:FILE.gguf",
    "openai:BASE_URL#MODEL",
    "oracle",
    "mutated[:RATE[:KIND]]",
    "random",
    "scripted:FILE.jsonl",
    "replay:DB#EPISODE",
)
