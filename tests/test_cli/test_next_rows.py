"""``forecast`` warns about rows whose times do not look like the next ones."""

import numpy as np
import pytest

from tests.test_cli.calling import call
from tests.test_cli.test_forecast import series, timed, trained

HOURLY = np.arange(400)
WORKING_DAYS = HOURLY + 2 * (HOURLY // 5)
IRREGULAR = np.cumsum(np.tile([1.0, 0.25, 3.0, 0.5], 100))


@pytest.mark.parametrize("dates", [False, True])
@pytest.mark.parametrize(
    ("past", "steps", "words"),
    [
        (HOURLY, [1, 1, 1], None),
        (HOURLY, [1, 2, 2], "the row at {0} is followed by one at {1}, but rows were closer together so far"),
        (HOURLY, [1, 1, 2], "the row at {1} is followed by one at {2}, but rows were closer together so far"),
        (HOURLY, [1, 0.5, 0.5], "the rows are closer together than the last ones learned"),
        (HOURLY, [0.5], "the rows are closer together than the last ones learned"),
        (HOURLY, [1, 1.25, 0.75], None),
        (WORKING_DAYS, [3, 1, 1], None),
        (WORKING_DAYS, [1, 1, 3], None),
        (WORKING_DAYS, [1, 1, 5], "the row at {1} is followed by one at {2}, but rows were closer together so far"),
        (IRREGULAR, [0.125, 1.0, 0.5], None),  # a single short gap is not unusual
        (IRREGULAR, [0.125, 0.125, 0.5], "the rows are closer together than the last ones learned"),
    ],
)
def test_a_change_of_spacing_inside_the_file_causes_a_warning(capsys, tmp_path, past, steps, words, dates):
    """Each row is forecast one step after the row before, whatever its time. The last ten steps give the usual spacing."""
    frame = series().assign(when=timed(past, dates))
    state = trained(capsys, tmp_path, frame, "--time", "when")
    times = past[-1] + np.cumsum(steps)
    source = tmp_path / "future.csv"
    frame[["hour", "wind"]][: len(steps)].assign(when=timed(times, dates)).to_csv(source, index=False)
    code, out, err = call(capsys, "forecast", state, source)
    assert (code, len(out.splitlines())) == (0, 1 + len(steps))
    if words is None:
        assert err == ""
    else:
        shown = [str(time) if dates else f"{time:g}" for time in timed(times, dates)]
        one_step = "Each row is still forecast as one step after the row before"
        assert err == f"driftline forecast: Warning: {source}: {words.format(*shown)}. {one_step}\n"
