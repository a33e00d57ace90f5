"""The robotic arm: picks and places objects on a bench."""
