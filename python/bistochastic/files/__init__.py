"""From a file to a protected file: ``release`` the way, ``whole`` files that appear when whole."""
