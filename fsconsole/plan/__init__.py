"""From a plan file to cells with exact commands; pure."""
