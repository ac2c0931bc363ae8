#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of scripts/faults_table.py: what it makes of what holders told."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import faults_table  # noqa: E402

SECOND = 10**9


def rows_of(*told, lasted=1):
    """Of one lock at T = 4 s, in a stall that begins at 10 s: each line is "WHAT SECOND WHO"."""
    lines = [f"{what} {int(float(at) * SECOND)} /x/4000-0 {who}"
             for what, at, who in (line.split() for line in told)]
    run = {"fault": "stall_1", "summary": "", "tick": 500, "commits": True, "hit": "", "wall": "",
           "timeouts": [4], "begun": 10 * SECOND, "ended": int((10 + lasted) * SECOND),
           "until": 20 * SECOND, "told": {library: lines for library in faults_table.LIBRARIES}}
    return faults_table.figures_of(run)


def figures(*told):
    row = rows_of(*told)[0]
    return row["lost"], row["idle"], row["both"], row["both_if_asked"]


class FiguresTest(unittest.TestCase):
    def test_a_lock_that_is_held_throughout_costs_nothing(self):
        self.assertEqual(figures("grant 1 a"), (0, 0, 0, 0))

    def test_a_holder_that_goes_on_was_idle_and_lost_nothing(self):
        self.assertEqual(figures("grant 1 a", "stop 12 a", "go 14.5 a"), (0, 2.5, 0, 0))

    def test_one_that_is_told_of_the_loss_late_takes_the_lock_for_its_own_if_asked(self):
        self.assertEqual(figures("grant 1 a", "stop 12 a", "grant 15 b", "lost 16 a"), (1, 3, 0, 1))

    def test_two_that_work_at_once_are_found(self):
        self.assertEqual(figures("grant 1 a", "grant 12 b", "lost 13 a"), (1, 0, 1, 1))

    def test_a_lock_that_nobody_takes_again_is_idle_to_the_end(self):
        self.assertEqual(figures("grant 1 a", "lost 12 a"), (1, 8, 0, 0))

    def test_what_was_lost_before_the_fault_does_not_count(self):
        self.assertEqual(figures("grant 1 a", "lost 5 a", "grant 6 b"), (0, 0, 0, 0))

    def test_one_that_was_granted_meanwhile_and_lost_counts(self):
        self.assertEqual(figures("grant 12 b", "lost 13 b")[0], 1)

    def test_a_stall_is_refused_only_if_it_outlasts_the_reserve(self):
        self.assertIn("1.2 s", faults_table.refusal("stall_2.5", 4, 500))
        self.assertEqual(faults_table.refusal("stall_2.5", 10, 500), "")
        self.assertIn("10 s", faults_table.refusal("stop_leader_still", 10, 2000))

    def test_one_lost_lease_is_a_mistake_unless_its_own_stall_outlasted_the_reserve(self):
        held, lost = rows_of("grant 1 a"), rows_of("grant 1 a", "lost 12 a", "grant 13 b")
        self.assertIn("1 of 1 leases lost", " ".join(faults_table.mistakes(20 * held + lost)))
        self.assertEqual(list(faults_table.mistakes(20 * held)), [])
        its_own = rows_of("grant 1 a", "lost 12 a", lasted=1.7)
        self.assertEqual(list(faults_table.mistakes(its_own)), [])


unittest.main()
