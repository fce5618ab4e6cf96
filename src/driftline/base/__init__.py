"""The interface of every learner, and what learners are built from."""
