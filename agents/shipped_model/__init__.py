"""How the model that ships with the kit was made: transcripts, tokenizer, network, training, GGUF, evaluation."""
