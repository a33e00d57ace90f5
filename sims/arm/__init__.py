"""What arms with a gripper share on a bench: MuJoCo bench, gripper verbs, monitors, pictures."""
