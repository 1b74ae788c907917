"""Ways to add rows into a table where indices repeat: embedding's backward."""

import numpy as np

from backhand.ops import embedding

from . import timing

SIZES = [(256, 512, 32), (2048, 8192, 256), (4096, 512, 768)]


def add_at_rows(tokens, dy, vocab):
    table = np.zeros((vocab, dy.shape[1]), dy.dtype)
    np.add.at(table, tokens, dy)
    return table


def sort_and_reduce(tokens, dy, vocab):
    table = np.zeros((vocab, dy.shape[1]), dy.dtype)
    order = np.argsort(tokens, kind="stable")
    present, first = np.unique(tokens[order], return_index=True)
    table[present] = np.add.reduceat(dy[order], first)
    return table


def one_hot_product(tokens, dy, vocab):
    return (np.arange(vocab)[:, None] == tokens).astype(dy.dtype) @ dy


def python_loop(tokens, dy, vocab):
    table = np.zeros((vocab, dy.shape[1]), dy.dtype)
    for token, row in zip(tokens, dy):
        table[token] += row
    return table


def scipy_sparse(tokens, dy, vocab):
    from scipy.sparse import csr_array

    one_hot = (np.ones(len(tokens), dy.dtype), (tokens, np.arange(len(tokens))))
    return csr_array(one_hot, shape=(vocab, len(tokens))) @ dy


FORMS = [add_at_rows, sort_and_reduce, one_hot_product, python_loop]


def main():
    timing.describe_machine()
    forms = FORMS + [scipy_sparse] * timing.installed("scipy.sparse")
    for n, vocab, width in SIZES:
        rng = np.random.default_rng(0)
        tokens = rng.integers(vocab, size=n)
        dy = rng.normal(size=(n, width)).astype(np.float32)
        _, cache = embedding.forward(tokens, np.zeros((vocab, width), np.float32))
        ours = "embedding.backward"
        contest = {ours: lambda: embedding.backward(dy, cache)}
        for form in forms:
            contest[form.__name__] = lambda form=form: form(tokens, dy, vocab)
            theirs = contest[form.__name__]()
            np.testing.assert_allclose(theirs, contest[ours](), atol=1e-4)
        times = timing.take_turns(contest, rounds=15)
        print(f"\n{n} tokens, vocabulary {vocab}, width {width}")
        print(f"{'':20} {'time to ours':>16} {'ms':>16}")
        for name, t in times.items():
            print(f"{name:20} {timing.ratio(t, times[ours])} {timing.milliseconds(t)}")


if __name__ == "__main__":
    main()
