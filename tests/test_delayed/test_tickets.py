"""Tickets: any interleaving of predictions, labels, saves and kills gives the same bits as plain asks and tells."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

import driftline as dl
from driftline.checks.tools import same
from driftline.features import Lags, Standardize
from tests.conftest import VARIANTS

MODELS = {
    "lms": lambda: dl.LMS(rate=0.05),
    "rls": dl.RLS,
    "kalman": dl.Kalman,
    "arcor": dl.ARCOR,
    "auto": dl.Auto,
    "auto of floats": lambda: dl.Auto(dtype="float32"),
    "kernel": lambda: dl.Kernel(dl.RLS(), budget=10),
    "sparse_dfop": lambda: dl.SparseDFOP(dim=8),
    "pipeline": lambda: Standardize() | Lags(y=3) | dl.RLS(),
    "pipeline of auto": lambda: Lags(x=[0, 1]) | dl.Auto(),
    "network": lambda: dl.Network([dl.Auto(), dl.RLS(), Lags(y=2) | dl.Kalman()]),
    "refusing network": VARIANTS["network_that_may_refuse_rows"],
    "averaged": lambda: dl.Averaged(dl.RLS()),
    "classifier": lambda: dl.Classifier(Lags(y=2) | dl.RLS()),
    "refit": lambda: dl.Refit(LinearRegression(), every=20, lags=[1, 2]),
}
STEPS = st.lists(
    st.sampled_from(["ask", "ask", "ask", "tell", "tell", "any", "save", "kill", "question"]), min_size=20, max_size=120
)


def stream(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 3))
    return X, X @ [1.0, -2.0, 0.5] + np.sin(np.arange(rows) / 4) + 0.1 * rng.standard_normal(rows)


class Plain:
    """Asks and tells in order, and does nothing else."""

    def __init__(self, model):
        self.model, self.waiting = model, []

    def ask(self, x, y):
        self.waiting.append((self.model.ask(x), y))
        return self.waiting[-1][0]

    def tell(self, place):
        self.model.tell(*self.waiting.pop(place))


class Troubled(Plain):
    """The same, but saved and killed now and then. After a kill, the steps since the last save are repeated."""

    def __init__(self, model):
        super().__init__(model)
        self.save()

    def ask(self, x, y):
        self.since.append((self.ask, x, y))
        return super().ask(x, y)

    def tell(self, place):
        self.since.append((self.tell, place))
        super().tell(place)

    def save(self):
        model = pickle.dumps(self.model) if isinstance(self.model, dl.Refit) else self.model.to_bytes()
        self.saved = model, [(ticket.to_bytes(), label) for ticket, label in self.waiting]
        self.since = []

    def kill(self):
        (model, waiting), lost, self.since = self.saved, self.since, []
        self.model = pickle.loads(model) if isinstance(self.model, dl.Refit) else dl.from_bytes(model)
        self.waiting = [(dl.Ticket.from_bytes(ticket), label) for ticket, label in waiting]
        for verb, *arguments in lost:
            verb(*arguments)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=15)
@given(steps=STEPS, places=st.randoms(use_true_random=False))
def test_interleavings_with_saves_kills_and_questions_give_the_bits_of_the_plain_order(name, steps, places):
    X, y = stream()
    plain, troubled, rows = Plain(MODELS[name]()), Troubled(MODELS[name]()), 0
    numeric = plain.model._estimator_type == "regressor"
    y = y if numeric else y > 0
    for step in steps:
        if step == "ask" and rows < len(X):
            one, other = plain.ask(X[rows], y[rows]), troubled.ask(X[rows], y[rows])
            assert one.prediction == other.prediction
            assert one.numbers.tolist() == other.numbers.tolist()
            rows += 1
        elif step in ("tell", "any") and plain.waiting:
            place = places.randrange(len(plain.waiting)) if step == "any" else 0
            plain.tell(place)
            troubled.tell(place)
        elif step in ("save", "kill"):
            getattr(troubled, step)()
        elif step == "question":
            troubled.model.predict_one(X[places.randrange(len(X))])
            if numeric:
                troubled.model.predict_interval(X[places.randrange(len(X))], 0.95)
            troubled.model.ask(X[places.randrange(len(X))], delay=places.randrange(39))
    troubled.kill()
    assert same(plain.model.__getstate__(), troubled.model.__getstate__())


@pytest.mark.parametrize("delay", [0, 1, 4, 11, 29])
def test_label_lags_count_from_the_predicted_row(delay):
    """Compares with rows that are built here.

    If a label is not known yet, lags 1, 2 and 3 use the newest labels instead, and other lags become multiples.
    """
    lags, rows = [1, 2, 3, 12, 24], 200
    X, y = stream(rows)
    model, plain = Lags(y=lags) | dl.RLS(forgetting=0.99), dl.RLS(forgetting=0.99)
    waiting = []
    for t in range(rows):
        known = y[: max(t - delay, 0)]  # those of the rows before t - delay

        def newest(count, known=known):
            return known[-count] if count <= len(known) else 0.0

        def before(lag, t=t):
            place = t - next(multiple for multiple in range(lag, 1000, lag) if multiple > delay)
            return y[place] if place >= 0 else 0.0

        row = np.concatenate([[newest(lag) if lag <= 3 and lag <= delay else before(lag) for lag in lags], X[t]])
        ticket = model.ask(X[t], delay)
        assert ticket.prediction == pytest.approx(plain.predict_one(row), abs=1e-12)
        waiting.append((ticket, row, y[t]))
        if len(waiting) > delay:
            told, row, label = waiting.pop(0)
            model.tell(told, label)
            plain.learn_one(row, label)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9)


@pytest.mark.parametrize("delay", [0, 2, 19, 23, 29, 99])
def test_auto_finds_a_season_however_late_its_labels_are(delay):
    """The label repeats every 24 rows, and no feature shows when."""
    rng = np.random.default_rng(1)
    season = rng.standard_normal(24)
    y = season[np.arange(1500) % 24]
    model, waiting, errors = dl.Auto(), [], []
    for t in range(len(y)):
        waiting.append(model.ask([0.0], delay))
        errors.append(y[t] - waiting[-1].prediction)
        if len(waiting) > delay:
            model.tell(waiting.pop(0), y[t - delay])
    assert np.mean(np.square(errors[1000:])) < 1e-3 * season.var()


def test_delay_defaults_to_how_late_the_last_label_was():
    X, y = stream()
    model = dl.RLS()
    assert model.ask(X[0]).delay == 0
    tickets = [model.ask(x) for x in X[:10]]
    for ticket, label in zip(tickets, y[:10], strict=True):
        model.tell(ticket, label)
    assert model.ask(X[0]).delay == 9
    model.learn_one(X[0], y[0])
    assert model.ask(X[0]).delay == 0
    model.tell(model.ask(X[1]), y[1])
    assert model.ask(X[0]).delay == 0
    first, second = model.ask(X[1]), model.ask(X[2])
    model.tell(second, y[2])
    model.tell(first, y[1])
    assert model.ask(X[0]).delay == 1
    model.run(X, y)
    assert model.ask(X[0]).delay == 0


def test_the_interval_of_a_ticket_does_not_change():
    """Not even if the model learns other rows before the label arrives."""
    X, y = stream()
    model = dl.Kalman().fit(X[:100], y[:100])
    ticket = model.ask(X[100])
    promised = ticket.interval(0.9)
    assert promised == model.predict_interval(X[100], 0.9)
    model.run(X, 100 * y)
    assert ticket.interval(0.9) == promised != model.predict_interval(X[100], 0.9)


def test_a_ticket_takes_several_labels_per_row():
    rng = np.random.default_rng(2)
    X, Y = rng.standard_normal((50, 3)), rng.standard_normal((50, 2))
    late, now = dl.RLS(), dl.RLS()
    late.learn_one(X[0], Y[0])
    now.learn_one(X[0], Y[0])
    waiting = []
    for t in range(1, 50):
        waiting.append(dl.Ticket.from_bytes(late.ask(X[t]).to_bytes()))
        np.testing.assert_array_equal(waiting[-1].prediction, late.predict_one(X[t]))
        if len(waiting) == 4:
            late.tell(waiting.pop(0), Y[t - 3])
            now.learn_one(X[t - 3], Y[t - 3])
    np.testing.assert_array_equal(late.coef_, now.coef_)
    with pytest.raises(ValueError, match="single label per row"):
        waiting[0].interval()


def test_a_ticket_accepts_a_class_that_is_newer_than_itself():
    X, _ = stream()
    model = dl.Classifier()
    for t in range(30):
        model.learn_one(X[t], "warm" if X[t, 1] > 0 else "cold")
    early = [model.ask(X[t]) for t in range(30, 40)]
    assert early[0].prediction in ("warm", "cold")
    with pytest.raises(ValueError, match="no interval"):
        early[0].interval()
    model.tell(early[0], "hot")
    model.tell(dl.Ticket.from_bytes(early[1].to_bytes()), "icy")
    for ticket in early[2:]:
        model.tell(ticket, "hot")
    assert set(model.classes_) == {"cold", "hot", "icy", "warm"}
    assert model.n_seen_ == 40


def test_a_classifier_learns_tickets_told_at_once_like_rows():
    X, _ = stream()
    labels = [["cold", "warm", "hot"][int(np.digitize(x[1], [-0.3, 0.4]))] for x in X]
    by_ticket, by_row = dl.Classifier(dl.Auto()), dl.Classifier(dl.Auto())
    for x, label in zip(X, labels, strict=True):
        ticket = by_ticket.ask(x)
        assert ticket.prediction == by_row.predict_one(x)
        by_ticket.tell(ticket, label)
        by_row.learn_one(x, label)
    assert by_ticket.to_bytes() == by_row.to_bytes()


def test_tickets_take_sample_weights_and_rows_with_missing_values():
    X, y = stream()
    late, now = dl.RLS(missing="skip"), dl.RLS(missing="skip")
    for t in range(60):
        late.tell(late.ask(X[t]), y[t], sample_weight=0.5 + t % 3)
        now.learn_one(X[t], y[t], sample_weight=0.5 + t % 3)
    hole = late.ask([1.0, np.nan, 0.0])
    assert np.isnan(hole.prediction)
    assert np.isnan(hole.interval()).all()
    late.tell(hole, 1.0)
    late.tell(late.ask(X[0]), np.nan)
    late.tell(late.ask(X[0]), 1.0, sample_weight=0.0)
    assert (late.n_seen_, late.n_skipped_) == (60, 2)
    np.testing.assert_array_equal(late.coef_, now.coef_)


def test_changing_a_row_after_ask_does_not_change_its_ticket():
    X, y = stream()
    for copy in (np.array, list, lambda x: dict(zip("abc", x.tolist(), strict=True))):
        model, twin = dl.RLS(), dl.RLS()
        model.learn_one(copy(X[0]), y[0])
        twin.learn_one(copy(X[0]), y[0])
        row = copy(X[1])
        ticket = model.ask(row)
        row[next(iter(row)) if isinstance(row, dict) else 0] = 1e6
        model.tell(ticket, y[1])
        twin.learn_one(copy(X[1]), y[1])
        np.testing.assert_array_equal(model.coef_, twin.coef_)


def test_a_ticket_of_a_model_with_other_parameters_or_more_labels_is_refused():
    X, y = stream()
    model = dl.RLS().fit(X, y)
    ticket = model.ask(X[0])
    for other in (dl.RLS(forgetting=0.5).fit(X, y), dl.Kalman().fit(X, y)):
        with pytest.raises(ValueError, match="another model: its class or its parameters differ"):
            other.tell(ticket, 1.0)
    with pytest.raises(ValueError, match="120 labels were known when it was made, and this one has learned 7"):
        dl.RLS().fit(X[:7], y[:7]).tell(ticket, 1.0)
    with pytest.raises(ValueError, match=r"RLS.ask: delay must be"):
        model.ask(X[0], delay=-1)
    model.tell(ticket, 1.0)
    with pytest.raises(ValueError, match="already been told"):
        model.tell(ticket, 1.0)


@pytest.mark.parametrize("cut", [0, 7, 100, -1])
def test_damaged_bytes_are_refused(cut):
    X, y = stream()
    data = dl.Auto().fit(X, y).ask(X[0]).to_bytes()
    with pytest.raises(dl.ModelFileError):
        dl.Ticket.from_bytes(data[:cut])
    with pytest.raises(dl.ModelFileError, match="altered"):
        dl.Ticket.from_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])


def test_bytes_of_another_kind_are_refused():
    X, y = stream()
    with pytest.raises(dl.ModelFileError, match="holds RLS, not a ticket"):
        dl.Ticket.from_bytes(dl.RLS().fit(X, y).to_bytes())
    with pytest.raises(TypeError, match="expected bytes"):
        dl.from_bytes("text")


@pytest.mark.parametrize("name", ["rls", "auto", "lms", "kernel", "network", "pipeline"])
def test_a_row_with_a_missing_value_is_skipped_when_its_label_arrives(name):
    X, y = stream()
    model, twin = MODELS[name]().clone({"missing": "skip"}), MODELS[name]().clone({"missing": "skip"})
    for t in range(80):
        x = X[t].copy()
        x[1] = np.nan if t in (3, 50) else x[1]
        model.tell(model.ask(x, 0), y[t])
        twin.learn_one(x, y[t])
    assert model.n_skipped_ == 2
    assert model.to_bytes() == twin.to_bytes()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Lags(y=2) | dl.RLS(),
        lambda: Standardize() | dl.Auto(),
        lambda: dl.Network([Standardize() | dl.RLS(), dl.Kalman()]),
        lambda: dl.Averaged(dl.RLS()),
        dl.Auto,
    ],
    ids=["lags", "standardize", "network", "averaged", "auto"],
)
def test_a_ticket_with_a_new_name_told_at_once_equals_learning_the_row(make):
    X, y = stream()
    by_ticket, by_row = make(), make()
    for t in range(60):
        row = dict(zip(["a", "b", "c"][: 1 + t // 20], X[t].tolist(), strict=False))
        by_ticket.tell(by_ticket.ask(row, delay=0), y[t])
        by_row.learn_one(row, y[t])
    assert by_ticket.to_bytes() == by_row.to_bytes()


@pytest.mark.parametrize("known", [19, 20, 21])
def test_a_ticket_keeps_a_row_of_any_width_while_the_model_grows(known):
    """A ticket holds up to 20 numbers itself. A pipeline adds those of the new features to its learner's ticket."""
    X, names = np.random.default_rng(0).normal(size=(12, 22)), [f"x{j}" for j in range(22)]
    pipeline, plain = Lags() | dl.RLS(), dl.RLS()
    rows = [dict(zip(names[:known], x.tolist(), strict=False)) for x in X[:11]]
    for row in rows[:10]:
        pipeline.learn_one(row, sum(row.values()))
        plain.learn_one(row, sum(row.values()))
    tickets = pipeline.ask(rows[10]), plain.ask(rows[10])
    assert tickets[1].x == dl.Ticket.from_bytes(tickets[1].to_bytes()).x == rows[10]
    for model in (pipeline, plain):
        model.learn_one(dict(zip(names, X[11].tolist(), strict=True)), 1.0)
    pipeline.tell(tickets[0], 2.0)
    plain.learn_one(rows[10], 2.0)
    np.testing.assert_allclose(pipeline.coef_, plain.coef_, rtol=1e-12)
