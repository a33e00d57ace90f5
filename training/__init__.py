"""How the model that ships with the kit was made, from made-up transcripts to the GGUF and its figures."""
