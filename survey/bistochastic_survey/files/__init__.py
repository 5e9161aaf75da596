"""From a file to a protected file and back: formats, pipes, and files that appear complete."""
