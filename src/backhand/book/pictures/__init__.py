"""One module a chapter: the pictures only that chapter draws."""
