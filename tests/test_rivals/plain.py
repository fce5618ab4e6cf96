"""Plain, slow versions of the methods: members keep their rows and are refitted for each prediction."""

import math

import numpy as np


def by_class(rows, labels, d):
    """All rows, the rows of each class, and the log-odds of the second class, which wins ties."""
    rows, labels = np.array(rows).reshape(-1, d), np.array(labels)
    own = [rows[labels < 0], rows[labels > 0]]
    return rows, own, math.log((len(own[1]) + 1) / (len(own[0]) + 1))


def bayes(rows, labels, x, binary):
    """The class that naive Bayes gives to x."""
    rows, own, odds = by_class(rows, labels, len(x))
    if min(map(len, own)) > 0:
        for j in range(len(x)):
            if binary[j]:
                p = [(part[:, j].sum() + 1) / (len(part) + 2) for part in own]
                odds += math.log(p[1] / p[0]) if x[j] == 1 else math.log((1 - p[1]) / (1 - p[0]))
            elif rows[:, j].var() > 0:
                density = []
                for part in own:
                    variance = (part[:, j].var() * len(part) + rows[:, j].var()) / (len(part) + 1)
                    density.append(-0.5 * (math.log(variance) + (x[j] - part[:, j].mean()) ** 2 / variance))
                odds += density[1] - density[0]
    return 1.0 if odds >= 0 else -1.0


def dwm(X, y, binary, period, shrink=0.5, least=0.01):
    """An expert is its weight and the first row that it learned."""
    experts, found = [[1.0, 0]], []
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        said = [bayes(X[start:t], y[start:t], x, binary) for _, start in experts]
        found.append(1.0 if sum(w * s for (w, _), s in zip(experts, said, strict=True)) >= 0 else -1.0)
        if (t + 1) % period == 0:
            for expert, own in zip(experts, said, strict=True):
                expert[0] *= shrink if own != label else 1.0
            largest = max(w for w, _ in experts)
            experts = [[w / largest, start] for w, start in experts if w / largest >= least]
            if found[-1] != label:
                experts.append([1.0, t])
    return np.array(found)


def discriminant(rows, labels, x, ridge):
    """The class that linear discriminant analysis gives to x."""
    rows, own, odds = by_class(rows, labels, len(x))
    if min(map(len, own)) > 0:
        means = [part.mean(axis=0) for part in own]
        scatter = sum((part - m).T @ (part - m) for part, m in zip(own, means, strict=True)) + ridge * np.eye(len(x))
        odds += (means[1] - means[0]) @ np.linalg.solve(scatter / len(rows), x - (means[0] + means[1]) / 2)
    return 1.0 if odds >= 0 else -1.0


def ecdd(X, y, warns, limit, ridge=0.01, weight=0.2, burn_in=30):
    rows, labels, mistakes, warned, found = [], [], [], [], []
    for x, label in zip(X, y, strict=True):
        found.append(discriminant(rows, labels, x, ridge))
        mistakes.append(float(found[-1] != label))
        n, p = len(mistakes), np.mean(mistakes)
        Z = sum(weight * (1 - weight) ** (n - 1 - i) * m for i, m in enumerate(mistakes))
        room = limit(p) * math.sqrt(p * (1 - p) * weight / (2 - weight) * (1 - (1 - weight) ** (2 * n)))
        if p + 0.5 * room < Z:
            warned.append((x, label))
        else:
            warned = []
        if n > burn_in and p + room < Z:
            since = warned[:-1] if warns else []
            rows, labels = [x for x, _ in since], [own for _, own in since]
            mistakes, warned = [], []
        rows.append(x)
        labels.append(label)
    return np.array(found)


def adaboost_ol(X, y, drawn, learners, rate):
    """X is scaled and includes a constant column."""
    W, alpha, trust, found = np.zeros((learners, X.shape[1])), np.zeros(learners), np.ones(learners), []
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        prediction_of = np.where(W @ x >= 0, 1.0, -1.0)
        partial = np.where(np.cumsum(alpha * prediction_of) >= 0, 1.0, -1.0)
        found.append(partial[np.searchsorted(np.cumsum(trust) / trust.sum(), drawn[t - 1], side="right")])
        margins = np.concatenate([[0.0], np.cumsum(alpha * prediction_of * label)])
        W += np.outer(rate / (1 + np.exp(margins[:-1])) / (1 + np.exp(label * (W @ x))) * label / (x @ x), x)
        alpha = np.clip(alpha + 4 / math.sqrt(t) * prediction_of * label / (1 + np.exp(margins[1:])), -2, 2)
        trust = trust * np.exp(-(partial != label).astype(float))
    return np.array(found)


def votes(betas, slope=0.5, crossing=10.0):
    """A member's vote from its betas, oldest first."""
    weight = 1 / (1 + np.exp(-slope * (np.arange(len(betas)) - crossing)))
    return math.log(np.sum(weight) / np.sum(weight * betas)) if np.sum(weight * betas) > 0 else math.log(1e10)


def learn_nse(X, y, binary, batch):
    members, betas, found = [], [], []
    for t, x in enumerate(X):
        if members:
            prediction_of = [bayes(*member, x, binary) for member in members]
            found.append(1.0 if np.dot([votes(np.array(b)) for b in betas], prediction_of) >= 0 else -1.0)
        else:
            found.append(1.0 if y[:t].sum() >= 0 else -1.0)
        if (t + 1) % batch == 0:
            at = slice(t + 1 - batch, t + 1)
            right = np.array(found[at]) == y[at]
            weight = np.where(right, np.mean(~right), 1.0) if members else np.ones(batch)
            members.append((X[at], y[at]))
            betas.append([])
            for member, own in zip(members, betas, strict=True):
                wrong = np.array([bayes(*member, row, binary) for row in X[at]]) != y[at]
                error = min(0.5, float(weight @ wrong / weight.sum())) if weight.sum() > 0 else 0.0
                own.append(error / (1 - error))
    return np.array(found)


def hidden(nodes, rows):
    return 1 / (1 + np.exp(-np.atleast_2d(rows) @ nodes.T))


def machine(nodes, rows, y, x, ridge, times=None):
    """The prediction of an extreme learning machine by the normal equations; a row may count several times."""
    if len(y) == 0:
        return 0.0
    H = hidden(nodes, rows)
    times = np.ones(len(y)) if times is None else times
    gram = H.T @ (times[:, None] * H) + ridge * np.eye(len(nodes))
    return float(hidden(nodes, x)[0] @ np.linalg.solve(gram, H.T @ (times * y)))


def addexp(rows, y, nodes, ridge, shrink=0.5, share=0.1, joins=0.05):
    """An expert is its weight, its nodes and the first row that it learned."""
    experts, found = [[1.0, 0, 0]], []
    for t, (x, label) in enumerate(zip(rows, y, strict=True)):
        prediction_of = np.array([machine(nodes[place], rows[start:t], y[start:t], x, ridge) for _, place, start in experts])
        weight = np.array([own for own, _, _ in experts])
        found.append(float(weight @ prediction_of / weight.sum()))
        unit = max(np.ptp(y[: t + 1]), 1e-12)
        error = np.minimum(1.0, np.abs(prediction_of - label) / unit)
        for expert, own in zip(experts, error, strict=True):
            expert[0] *= shrink**own
        if t > 0 and abs(found[-1] - label) / unit >= joins:
            newcomer = [share * float(weight @ error), len(experts), t]
            if len(experts) == len(nodes):
                weakest = min(range(len(experts)), key=lambda i: experts[i][0])
                newcomer[1] = experts[weakest][1]
                experts[weakest] = newcomer
            else:
                experts.append(newcomer)
        largest = max(own for own, _, _ in experts)
        for expert in experts:
            expert[0] /= largest
    return np.array(found)


def oaue(rows, y, nodes, block, ridge):
    """A member is a place among the nodes, the first row that it learned, and the rows that it was judged on."""
    members, candidate, found = [], (0, 0), []
    base, free = 0.0, list(range(1, len(nodes)))
    errors = {}

    def prediction_of(member, t):
        place, start = member
        return machine(nodes[place], rows[start:t], y[start:t], rows[t], ridge)

    for t in range(len(y)):
        own = {member: prediction_of(member, t) for member in [*members, candidate]}
        if members:
            weight = [1 / (base + np.mean(errors[m]) + 1e-12) for m in members]
            found.append(float(np.dot(weight, [own[m] for m in members]) / np.sum(weight)))
        else:
            found.append(own[candidate])
        for m in members:
            errors[m][t % block] = (own[m] - y[t]) ** 2
        if (t + 1) % block == 0:
            base = float(np.var(y[t + 1 - block : t + 1]))
            members.append(candidate)
            errors[candidate] = np.zeros(block)
            if free:
                place = free.pop()
            else:
                worst = max(members, key=lambda m: (np.mean(errors[m]), -m[0]))
                members.remove(worst)
                place = worst[0]
            candidate = (place, t + 1)
    return np.array(found)
