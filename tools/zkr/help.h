// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_HELP_H_
#define ZKRECIPES_TOOLS_ZKR_HELP_H_

namespace zkrecipes::zkr {

// The text that --help shows below the options of each command, before what is common to all.

inline constexpr char kLockHelp[] = R"(
CMD finds ZKR_FENCING_TOKEN, ZKR_FENCING_EPOCH, ZKR_SEQUENCER, ZKR_PATH and
ZKR_NODE in its environment. CMD and everything it starts are dead before the
lock is released or can be granted to another contender, and die with zkr. A
guard process ensures that. These processes escape it:
  cgroup    a process that root moves to another cgroup
  process   a process with another user's rights, or one that forks too fast;
            and CMD's children if guard and runner are killed at once
  any       whatever a daemon (systemd-run, at, docker) starts for CMD
`zkr lock PATH -- unshare --pid --fork --kill-child CMD` (as root) lets no child
of CMD escape.

With --permits what is said of the lock is true of a permit. N is the data of
PATH; whoever names another number is refused (64). `zkr lock PATH` on the same
path waits for all permits, and keeps further ones back.

Exit status: CMD's own, or 128+n if signal n ended it; 75 the lock was not
acquired; 70 the lock was lost while CMD ran; 126 CMD cannot be run; 127 CMD was
not found.)";

inline constexpr char kElectHelp[] = R"(
Campaigns, runs CMD while leading, and campaigns again when CMD has ended or the
leadership is lost. If CMD ended within a second, zkr first pauses: for 1 s,
then longer each time, up to 30 s. SIGTERM and SIGINT are passed on to CMD; once
CMD is dead, zkr resigns and ends. zkr does not see a Ctrl-C that CMD catches,
so it waits a second after CMD's end for another one. CMD finds
ZKR_FENCING_TOKEN (the term), ZKR_FENCING_EPOCH, ZKR_SEQUENCER, ZKR_PATH and
ZKR_NODE in its environment. CMD and everything it starts are dead before
another candidate can lead, and die with zkr.

Exit status: that of the last CMD, or 128+n if signal n ended it or came while
no CMD ran; 126 CMD cannot be run; 127 CMD was not found. With --once also 69
the candidate's session could not be proven; 70 the leadership was lost while
CMD ran; 75 another client deleted the candidate's node.)";

inline constexpr char kObserveHelp[] = R"(
Prints one line for the current leader and one for every change, including
"nobody leads", until it is interrupted or its output is closed. Changes during
a lost connection are printed once the connection is back; of several changes in
a row, only the last is sure to be printed.

Exit status: 128+n if signal n ended it (130 for Ctrl-C), also 141 if its output
was closed.)";

inline constexpr char kCheckHelp[] = R"(
Asks the ensemble's quorum whether the grant that SEQUENCER names still holds. A
resource that keeps no record of tokens can check the sequencer of each writer
in this way.

Exit status: 0 it holds; 1 it does not.)";

inline constexpr char kBreakHelp[] = R"(
Deletes the node of the one contender whose token is N, and nothing else. A
holder's lease is then lost and the next contender is granted the lock, while
the holder may need a moment to notice. The resource that the lock guards should
therefore check tokens.

Exit status: 0 deleted; 1 no contender has that token, or several have it.)";

inline constexpr char kEpochHelp[] = R"(
The epoch counts how often operators have set the ensemble back to an older
state. Leases show it beside the token, and resources refuse passes of an older
epoch. Restoring a backup sets tokens back: stop all clients that acquire locks,
restore, raise the epoch above every epoch that a resource has seen, and only
then start the clients again. A session keeps the epoch that it found when it
began. The record is /zkrecipes/epoch, outside every namespace; all clients must
be able to read it. If zkr creates it with --digest-file, only these users may
raise the epoch again. Under an open root anyone may create it first: --make
creates it, or takes a stranger's place, for the users of --digest-file (and of
a client certificate) alone; --above N is needed if what the record holds is not
believed. --make comes to 10001000 at most, --raise a million further each time.

Exit status: 0; 64 also if the record is not believed; 71 also if a --raise or
--make is done, but the epoch cannot be printed.)";

inline constexpr char kLsHelp[] = R"(
Of a path of Partitions it shows each partition with its owner, and the members.

Exit status: 0, also if the queue is empty or the path does not exist.)";

inline constexpr char kDoctorHelp[] = R"(
Asks each server by itself, then examines the epoch and PATH. Of a lock that is
stuck it says who holds it, since when, from where and whether the holder's
session is alive, who waits, and how to break the lock. A FINDING needs an
operator: it says what was seen, whether that is certain or likely, and what to
do. Whatever cannot be known is "unknown": tick, syncLimit and voters are,
unless the servers' 4lw.commands.whitelist has conf and mntr, and with --tls-ca.
Opens sessions and closes them; changes nothing. A server that does not answer
costs a second. With --plan it only calculates, and asks no server.

Exit status: 0 nothing found; 1 something to do.)";

// ---- of the manual page alone ------------------------------------------------------------------

inline constexpr char kExitStatus[] = R"(
Of lock and elect that of CMD, or 128+n if signal n ended it, unless zkr itself has the last word:
  0    done; of doctor: nothing was found
  1    check: it does not hold; break: no contender has that token; doctor: something to do
  64   bad arguments, or an invalid path
  69   no ensemble is reachable, or it refuses the session, or answers too late to prove it
  70   the lock was lost while CMD ran
  71   the output could not be written
  73   something that comes back is used up: processes, descriptors, sequence numbers
  75   the lock was not acquired within --try or --wait (--conflict-exit-code changes it)
  77   permission denied
  126  CMD cannot be run or guarded
  127  CMD was not found)";

inline constexpr char kEnvironment[] = R"(
  ZKR_FENCING_TOKEN, ZKR_FENCING_EPOCH  For CMD: what it passes to the resources that it writes to
  ZKR_SEQUENCER  For CMD: what `zkr check` takes
  ZKR_PATH, ZKR_NODE  For CMD: the lock, and its node)";

inline constexpr char kExamples[] = R"(
  zkr lock /locks/backup --try -- backup.sh  One machine at a time; the others do without
  zkr lock /locks/deploy --wait 5m -- deploy.sh  One after the other, in the order of arrival
  zkr lock /locks/nightly -n -q --at-least 60s -- job.sh  In a crontab of several machines
  zkr lock /fleet/reboot --permits 3 -- reboot-host web17  Three hosts at a time
  zkr elect /elections/cron --candidate $HOSTNAME -- scheduler  One leader; another takes over
  zkr doctor /locks/backup  Who holds it, whether the holder lives, and what to do)";

}  // namespace zkrecipes::zkr

#endif  // ZKRECIPES_TOOLS_ZKR_HELP_H_
