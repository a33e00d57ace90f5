"""One episode: task, agent and rig in, log and scores out."""
