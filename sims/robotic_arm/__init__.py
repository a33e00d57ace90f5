"""The robotic arm's simulator, on MuJoCo."""
