"""The model of collapse: its formulas against simulations, the trainer's functions and the page."""

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ragen_starpo.algorithms.group_advantages import dr_grpo, grpo
from ragen_starpo.algorithms.losses import ppo_loss

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "examples"))
import collapse_figure as figure  # noqa: E402
import collapse_model as model  # noqa: E402
from collapse_model import Setting, simulate, solve, start  # noqa: E402

SUCCESS, DEVIATION, ENTROPY, NORM = model.METRICS
BASE = Setting(groups=64, learning_rate=0.25)
NOISY = Setting(rollouts=4, groups=1, noise=0.4)


@pytest.mark.parametrize(
    "change", [{}, {"normalize_std": False}, {"noise": 0.2}, {"kl": 0.3}], ids=str
)
def test_the_ode_is_the_mean_of_many_runs(change):
    setting = replace(BASE, **change)
    curves, runs = solve(start(0.1), setting, 150), simulate(start(0.1), setting, 150, runs=48)
    for metric in model.METRICS:
        for iteration in (0, 20, 60, 150):
            sample = runs[metric][iteration]
            error = sample.std(ddof=1) / math.sqrt(len(sample))
            # The ODE leaves out the noise of 64 groups, which the gradient's norm contains.
            slack = 0.01 if metric == NORM else 0.004
            assert abs(sample.mean() - curves[metric][iteration]) < 4 * error + slack, metric


@pytest.mark.parametrize("keep", [1.0, 0.5, 0.25])
@pytest.mark.parametrize("is_grpo", [True, False])
def test_the_expected_update_is_the_mean_of_sampled_ones(keep, is_grpo):
    setting = Setting(groups=400, learning_rate=1.0, noise=0.1, keep=keep, normalize_std=is_grpo)
    theta = np.array([0.5, -0.3])
    chances = model.episode_chances(theta, setting.noise)
    counts = np.random.default_rng(1).multinomial(8, chances, size=(1000, 400)).astype(float)
    points = np.tile(theta, (1000, 1))
    moved = model.update(points, counts, setting, points)[0] - theta
    error = moved.std(0) / math.sqrt(1000)
    assert np.all(
        np.abs(moved.mean(0) - model.expected_update(theta, setting, theta)) < 4 * error + 1e-3
    )


def test_entropy_and_gradients_are_those_of_the_enumerated_episodes():
    def divergence(theta, reference):
        chances = [model.episode_chances(point, 0.0)[[0, 2, 5]] for point in (theta, reference)]
        return chances[0] @ np.log(chances[0] / chances[1])

    theta, reference = np.array([0.7, -0.4]), np.array([-0.3, 1.1])
    for axis in np.eye(2) * 1e-5:
        kl = divergence(theta + axis, reference) - divergence(theta - axis, reference)
        assert kl / 2e-5 == pytest.approx(
            model.kl_gradient(theta, reference) @ axis / 1e-5, abs=1e-8
        )
        rise = model.success(theta + axis) - model.success(theta - axis)
        assert rise / 2e-5 == pytest.approx(model.success_gradient(theta) @ axis / 1e-5, abs=1e-8)
    chances = model.episode_chances(theta, 0.0)[[0, 2, 5]]
    steps = 1 + model.sigmoid(theta)[0]
    assert model.entropy(theta) == pytest.approx(-(chances @ np.log(chances)) / steps)


def test_the_factor_of_dr_grpo_is_a_constant_and_that_of_grpo_the_deviation():
    for rate in (0.03, 0.5, 0.9):
        assert model.group_deviation(rate, Setting(normalize_std=False))[1] == pytest.approx(7 / 8)
        deviation, factor = model.group_deviation(rate, Setting())
        assert factor == pytest.approx(7 / 8 * deviation / (rate * (1 - rate)))


@pytest.mark.parametrize("clip", [None, (0.2, 0.28)])
@pytest.mark.parametrize("is_grpo", [True, False])
def test_an_update_is_that_of_the_trainers_advantages_and_loss(clip, is_grpo):
    setting = Setting(5, 1, 0.2, normalize_std=is_grpo, passes=20, clip=clip)
    theta = np.array([0.4, -0.2])
    kinds, rewards = [0, 0, 1, 2, 2], [1.0, 0.0, 0.0, 1.0, 1.0]
    counts = np.zeros((1, 1, 6))
    for kind, reward in zip(kinds, rewards, strict=True):
        counts[0, 0, 2 * kind + int(reward)] += 1
    got = model.update(theta[None], counts, setting, theta[None])[0][0]
    right = torch.tensor(model.RIGHT[kinds])
    mask = torch.tensor(model.TAKEN[kinds]).double()
    scores, groups = torch.tensor(rewards, dtype=torch.float64), torch.zeros(5, dtype=torch.long)
    advantages = (grpo if is_grpo else dr_grpo)(scores, groups, mask)
    logits = torch.tensor(theta, requires_grad=True)
    old = torch.nn.functional.logsigmoid(torch.where(right == 1, logits, -logits)).detach()
    low, high = clip or (1e9, 1e9)
    for _ in range(setting.passes):
        log_probs = torch.nn.functional.logsigmoid(torch.where(right == 1, logits, -logits))
        losses, _ = ppo_loss(log_probs, old, advantages, mask, low, high, None)
        [gradient] = torch.autograd.grad((losses * mask).sum() / 5, logits)
        logits = (logits - setting.learning_rate * gradient).detach().requires_grad_()
    assert got == pytest.approx(logits.detach().numpy(), abs=1e-5)


def test_all_estimators_follow_one_path_whose_invariant_and_time_are_closed():
    theta = np.array([1.0, -2.0])
    for setting in (BASE, replace(BASE, normalize_std=False), replace(BASE, rollouts=4, keep=0.5)):
        point = theta
        for _ in range(4000):
            point = point + 0.005 * model.expected_update(point, setting, theta)
        invariant = [u + math.exp(u) - v - math.exp(v) for u, v in (theta, point)]
        assert invariant[0] == pytest.approx(invariant[1], abs=0.05)
        assert model.success(point) > model.success(theta) + 0.1

    def clock(p):
        return 3 * math.log(p / (1 - p)) - 2 / p - 1 / (2 * p * p) + 1 / (1 - p)

    path = solve(start(0.1), replace(BASE, normalize_std=False), 300)[SUCCESS]
    reached = int(np.argmax(path >= 0.9))
    time = (clock(math.sqrt(path[reached])) - clock(math.sqrt(0.1))) / (0.25 * 7 / 8)
    assert time == pytest.approx(reached, abs=0.01)


def test_no_update_lowers_success_without_reward_noise():
    for change in ({}, {"passes": 8}, {"normalize_std": False}, {"keep": 0.25}):
        for rate in (1.0, 30.0):
            setting = Setting(rollouts=4, groups=8, learning_rate=rate, **change)
            runs = simulate(np.array([2.0, -1.0]), setting, 40, runs=200)[SUCCESS]
            assert np.diff(runs, axis=0).min() > -1e-12


def test_the_exact_change_is_the_mean_of_sampled_ones():
    for change in ({}, {"passes": 8}, {"passes": 8, "clip": (0.2, 0.28)}, {"normalize_std": False}):
        setting = replace(NOISY, learning_rate=2.0, **change)
        moved = simulate(start(0.8), setting, 1, runs=40000)[SUCCESS][1] - 0.8
        error = moved.std() / 200
        assert abs(moved.mean() - model.expected_change(start(0.8), setting)) < 4 * error


def page_rows(heading):
    """Return the cells of the table under a heading of the page, without its two head rows."""
    page = (ROOT / "docs/results/model-of-collapse.md").read_text(encoding="utf-8")
    section = page.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_the_pages_table_of_signals():
    falls = figure.find_falls(Setting()), figure.find_falls(Setting(normalize_std=False))
    rows = page_rows("Which signal falls first")
    for (metric, title), row in zip(figure.SIGNALS.items(), rows, strict=True):
        assert row[0] == title.lower()
        assert row[1:] == [f"{value:.2f}" for fall in falls for value in fall[metric]]


def test_the_plateau_of_an_easy_and_a_hard_prompt():
    easy, hard = (solve(start(rate), BASE, 200) for rate in (0.5, 0.01))
    mean = {metric: (easy[metric] + hard[metric]) / 2 for metric in (SUCCESS, DEVIATION, ENTROPY)}
    mean[NORM] = np.hypot(easy[NORM], hard[NORM]) / 2
    assert np.diff(mean[SUCCESS]).min() > 0
    peaks = {metric: np.maximum.accumulate(curve) for metric, curve in mean.items()}
    lost = [int(np.argmax(mean[m] < 0.65 * peaks[m])) for m in (NORM, DEVIATION, ENTROPY)]
    assert lost == [25, 33, 45]
    lowest = int(mean[DEVIATION][:110].argmin())
    assert lowest == 75
    shares = [float(mean[m][lowest] / mean[m][0]) for m in (DEVIATION, ENTROPY)]
    assert shares == pytest.approx([0.44, 0.65], abs=0.005)
    assert mean[SUCCESS][[0, lowest]] == pytest.approx([0.255, 0.49], abs=0.005)


def test_the_pages_table_of_critical_rates():
    changes = [{}, {"normalize_std": False}, {"rollouts": 8}, {"noise": 0.2}, {"passes": 8},
               {"passes": 8, "clip": (0.2, 0.2)}, {"passes": 8, "clip": (0.2, 0.28)}]  # fmt: skip
    for change, row in zip(changes, page_rows("What makes success fall"), strict=True):
        setting = replace(NOISY, **change)
        rates = [model.critical_rate(start(s), setting) * setting.passes for s in (0.64, 0.8, 0.9)]
        assert row[1:] == ["none" if math.isinf(rate) else f"{rate:.1f}" for rate in rates]


def test_the_pages_table_of_falls():
    extra = [{}, {"clip": (0.2, 0.2)}, {"clip": (0.2, 0.28)}, {"kl": 0.1}, {"kl": 0.3}]
    changes = [{}, *({"passes": 8, **change} for change in extra)]
    for change, row in zip(changes, page_rows("What filter, KL and clip change"), strict=True):
        setting = replace(NOISY, learning_rate=2.0, **change)
        runs = simulate(start(0.8), setting, 60, runs=2000)
        ends = [f"{runs[metric][60].mean():.2f}" for metric in (SUCCESS, DEVIATION, ENTROPY)]
        assert row[1:] == [*ends, f"{100 * (runs[SUCCESS][60] < 0.4).mean():.0f} %"]


def test_the_kl_term_ends_the_rise_where_the_formula_says():
    for is_grpo, weight in ((True, 1.0), (True, 2.0), (False, 1.0)):
        setting = replace(BASE, kl=weight, normalize_std=is_grpo)
        end = simulate(start(0.3), setting, 300, runs=16)[SUCCESS][-1].mean()
        assert end == pytest.approx(model.success_under_kl(0.3, setting), abs=0.005)
    odds = 3 / 7 * math.exp(7 / 8)
    dr = replace(BASE, kl=1.0, normalize_std=False)
    assert model.success_under_kl(0.3, dr) == pytest.approx(odds / (1 + odds), abs=5e-4)


def test_the_filter_keeps_the_failures_falling_exponentially():
    every = solve(start(0.1), BASE, 120)[SUCCESS]
    quarter = solve(start(0.1), replace(BASE, keep=0.25), 120)[SUCCESS]
    assert [round(1 - path[-1], 3) for path in (every, quarter)] == [0.048, 0.008]
    rates = [round(float((1 - path[110]) / (1 - path[100])), 2) for path in (every, quarter)]
    assert rates == [0.86, 0.68]
    ends = [
        simulate(start(0.8), replace(NOISY, groups=8, learning_rate=32.0, keep=keep), 60, runs=1000)
        for keep in (1.0, 0.25)
    ]
    assert [end[SUCCESS][60].mean() for end in ends] == pytest.approx([0.99, 0.85], abs=0.03)


def test_clip_higher_raises_a_rare_success_sooner():
    setting = Setting(learning_rate=0.25, passes=8)
    arms = [replace(setting, clip=clip) for clip in (None, (0.2, 0.28), (0.2, 0.2))]
    ends = [simulate(start(0.1), arm, 5, runs=200)[SUCCESS][5].mean() for arm in arms]
    assert ends == pytest.approx([0.63, 0.59, 0.56], abs=0.01)


def run_figure(*arguments):
    command = [sys.executable, "collapse_figure.py", *arguments]
    return subprocess.run(command, cwd=ROOT / "examples", capture_output=True, text=True)


def test_the_limits_of_the_page():
    near = 1 - 1e-5
    for n in (4, 8):
        deviation, _ = model.group_deviation(near, Setting(n))
        assert deviation == pytest.approx(math.sqrt(n) * 1e-5, rel=1e-3)
        dr = model.expected_update(start(near), Setting(n, normalize_std=False), start(near))
        assert np.linalg.norm(dr) == pytest.approx((1 - 1 / n) * 1e-5 / math.sqrt(2), rel=1e-3)
    deviations = [model.group_deviation(rate, Setting())[0] for rate in np.linspace(0.01, 0.99, 99)]
    assert np.diff(deviations, 2).max() < 0
    large = Setting(rollouts=1000)
    for rate in (0.04, 0.5):
        factor = model.group_deviation(rate, large)[1]
        assert factor == pytest.approx(1 / math.sqrt(rate * (1 - rate)), rel=0.02)
    path = solve(start(0.98), replace(BASE, keep=0.25), 20)[SUCCESS]
    fall = math.exp(-20 * 0.25 * 7 / 8 / (2 * math.sqrt(8)))
    assert (1 - path[20]) / (1 - path[0]) == pytest.approx(fall, rel=0.02)


def test_the_script_draws_measured_curves(tmp_path):
    measured, out = tmp_path / "lab.json", tmp_path / "figure.svg"
    rise = [0.1, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9]
    runs = [[*rise[:-1], 0.91], [*rise[:-1], 0.92], [*rise[:-1], math.nan]]
    short = {metric.split("/")[1]: runs for metric in model.METRICS}
    measured.write_text(json.dumps({"lake": dict.fromkeys(model.METRICS, rise), "lab": short}))
    done = run_figure("--out", str(out), "--measured", str(measured))
    assert done.returncode == 0, done.stderr
    assert "GRPO: critical learning rate 4.4" in done.stdout
    drawn = out.read_text()
    assert drawn.count(">lake</tspan>") == drawn.count(">lab</tspan>") == 3
    assert drawn.count('class="m dots"') == 3 * (3 + 3)


def test_the_published_figure_is_the_scripts():
    published = (ROOT / "docs/results/model-of-collapse.svg").read_text(encoding="utf-8")
    numbers = re.compile(r"-?\d+\.\d")
    measured = figure.read_measured(ROOT / "docs/results/model-of-collapse.json")
    drawn = figure.draw_figure(measured)
    assert numbers.sub("", published) == numbers.sub("", drawn)
    found = [[float(number) for number in numbers.findall(text)] for text in (published, drawn)]
    assert found[0] == pytest.approx(found[1], abs=0.3)


@pytest.mark.parametrize("content", ["{", "{}", '{"lake": {"rollout/success": [0.1]}}', "[1]"])
def test_other_files_are_refused_in_one_line(tmp_path, content):
    measured = tmp_path / "lab.json"
    measured.write_text(content)
    with pytest.raises(SystemExit) as refused:
        figure.read_measured(measured)
    assert str(refused.value).startswith(
        f"{measured}: write a JSON object NAME: {{METRIC: values}}"
    )
