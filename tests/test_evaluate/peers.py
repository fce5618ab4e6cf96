"""Learners that imitate another library, in their own module, so that worker processes can import them."""


class Zero:
    """Predicts 0 and counts the rows that it learns."""

    def __init__(self):
        self.seen = 0

    def predict_one(self, x):
        return 0.0

    def learn_one(self, x, y):
        self.seen += 1


class Diverging(Zero):
    """Breaks down after some rows."""

    def learn_one(self, x, y):
        super().learn_one(x, y)
        if self.seen == 100:
            raise OverflowError("the weights are gone")


class Careless(Zero):
    """Fails for a reason that has nothing to do with numbers."""

    def learn_one(self, x, y):
        raise KeyError("no such thing")


class Talking(Zero):
    """Prints, which must not disturb the messages between a worker and its parent."""

    def learn_one(self, x, y):
        print("learning")


class Deadly(Zero):
    """Ends its process."""

    def learn_one(self, x, y):
        import os

        os._exit(3)
