"""Actions, automata, alignment and the CORE metrics: pure, and light to import."""
