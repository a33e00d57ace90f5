"""Models as chat backends: llama.cpp on this machine, and OpenAI-compatible servers."""
