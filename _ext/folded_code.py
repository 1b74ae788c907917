"""Code that is folded is named by the words that unfold it.

MyST-NB gives the summary of each a name of its own, so that a screen reader says
something else than what is to be seen.
"""

NAMED = '<summary aria-label="Toggle hidden content">'


def drop_the_other_name(app, pagename, templatename, context, doctree):
    if "body" in context:
        context["body"] = context["body"].replace(NAMED, "<summary>")


def setup(app):
    app.connect("html-page-context", drop_the_other_name)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
