"""Rules over sequences of calls: files, automata, four verdicts, findings in traces, logs and live runs."""
