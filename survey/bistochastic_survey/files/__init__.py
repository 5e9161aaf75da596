"""From a file to a protected file: ``release`` does it, ``whole`` makes files appear complete."""
