#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of scripts/partitions_picture.py: its verdict on what members told."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import partitions_picture  # noqa: E402

SECOND = 10**9
MARKS = [{"at": 0, "text": "a, b, c, d start"}, {"at": 5 * SECOND, "text": "b is killed"},
         {"at": 14 * SECOND, "text": "e joins"}, {"at": 30 * SECOND, "text": "all stop"}]


def marks(*said):
    return [{"at": int(at) * SECOND, "text": text}
            for at, text in (one.split(" ", 1) for one in said)]


def mistakes(marks=MARKS, **told):
    """One partition; each line is "WHAT SECOND"."""
    def line(said):
        what, at = said.split()
        return f"{what} {int(float(at) * SECOND)} 0"

    lines = {member: [line(one) for one in said] for member, said in told.items()}
    run = {"session_timeout": 4, "partitions": 1, "marks": marks, "until": 31 * SECOND,
           "told": lines}
    return list(partitions_picture.mistakes(run))


class Verdict(unittest.TestCase):
    def test_one_owner_to_the_end_is_right(self):
        self.assertEqual(mistakes(a=["own 1", "work 2", "work 29.9", "asked 30", "gave 30"]), [])

    def test_an_heir_that_comes_after_the_death_is_right(self):
        self.assertEqual(mistakes(b=["own 1", "work 5"], a=["own 9", "asked 30"]), [])

    def test_an_heir_that_begins_while_the_other_believes_is_a_mistake(self):
        self.assertIn("a began 1000.0 ms before b had ended",
                      mistakes(b=["own 1", "work 10"], a=["own 9", "asked 30"])[0])

    def test_a_frozen_owner_that_finds_its_lease_lost_is_right(self):
        self.assertEqual(mistakes(b=["own 1", "work 16", "lost 28", "gave 28"],
                                  a=["own 20", "asked 30"]), [])

    def test_work_that_ends_since_another_member_was_killed_is_a_mistake(self):
        self.assertIn("interrupted",
                      mistakes(a=["own 1", "asked 6", "gave 6", "own 7", "asked 30"])[0])

    def test_an_owner_that_stops_or_has_it_only_for_another_is_interrupted(self):
        story = marks("0 a, b start", "8 a stops", "12 a starts", "30 all stop")
        self.assertEqual(mistakes(story, a=["own 1", "asked 8.5", "own 13", "asked 30"],
                                  b=["own 8.6", "asked 12.9"]), [])

    def test_a_lease_that_is_lost_as_another_member_dies_is_a_mistake(self):
        self.assertIn("interrupted",
                      mistakes(a=["own 1", "work 7", "lost 8", "own 8.1", "asked 30"])[0])

    def test_what_a_member_has_since_a_newcomer_came_may_be_of_one_that_is_away(self):
        story = marks("0 a, b start", "5 b killed", "14 e joins", "18 c killed", "30 all stop")
        self.assertEqual(mistakes(story, b=["own 1", "work 5"], a=["own 9", "asked 20"],
                                  e=["own 20.1", "asked 30"]), [])

    def test_a_partition_that_nobody_takes_for_long_is_a_mistake(self):
        story = marks("0 a, b start", "8 a killed", "30 all stop")
        self.assertEqual(mistakes(story, a=["own 1", "work 8"], b=["own 17", "asked 30"]), [])
        self.assertIn("without an owner for 12.0 s",
                      mistakes(story, a=["own 1", "work 8"], b=["own 20", "asked 30"])[0])

    def test_a_partition_that_is_nobodys_in_the_end_is_a_mistake(self):
        self.assertIn("without an owner in the end", mistakes(a=["own 1", "work 20"])[0])


if __name__ == "__main__":
    unittest.main()
