"""How models write tool calls: one syntax a module, and chat templates that ask for it."""
