// SPDX-License-Identifier: Apache-2.0
//
// `zkr check`, `zkr break`, `zkr epoch` and `zkr ensemble`: one question, one answer.

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "testing/local/detached_ensemble.h"
#include "tools/zkr/commands/client.h"
#include "tools/zkr/commands/commands.h"
#include "tools/zkr/output.h"
#include "zkrecipes/contenders.h"

namespace zkrecipes::zkr::commands {

int RunCheck(const GlobalFlags& global, const std::string& text) {
  const auto sequencer = Sequencer::Parse(text);
  if (!sequencer.ok()) return Refuse(sequencer.status());
  const auto client = Connect(global);
  if (!client.ok()) return Refuse(client.status());
  const auto holds = CheckSequencer(**client, *sequencer, {global.session_timeout});
  if (!holds.ok()) return Refuse(holds.status());
  if (!Print(CheckedText(text, *holds, global.json))) return kInternal;
  return *holds ? kDone : kNo;
}

int RunBreak(const GlobalFlags& global, const BreakFlags& flags) {
  const auto client = Connect(global);
  if (!client.ok()) return Refuse(client.status());
  const FencingToken token(flags.token);
  const WaitOptions wait{global.session_timeout};
  // One transaction of another library's client gives all its nodes one czxid.
  const auto queue = ListContenders(**client, flags.path, wait);
  if (!queue.ok()) return Refuse(queue.status());
  const auto same = std::ranges::count(*queue, token, &ContenderInfo::token);
  if (same > 1 && flags.token > 0) {
    Complain(absl::StrCat(same, " contenders for ", flags.path, " have the token ", flags.token,
                          ": none was deleted. Delete the node that is meant by its name"));
    return kNo;
  }
  // Only the node whose token was named is deleted: the holder that the user saw, not its
  // successor.
  const absl::Status broken = BreakContender(**client, flags.path, token, wait);
  if (absl::IsNotFound(broken)) {
    Complain(broken);
    return kNo;
  }
  if (!broken.ok()) return Refuse(broken);
  Complain(absl::StrCat("deleted the contender for ", flags.path, " with token ", flags.token));
  return kDone;
}

int RunEpoch(const GlobalFlags& global, const EpochFlags& flags) {
  if (flags.above && !flags.raise && !flags.make) {
    return Refuse(absl::InvalidArgumentError("--above: only with --raise or --make"));
  }
  const auto client = Connect(global);
  if (!client.ok()) return Refuse(client.status());
  const WaitOptions wait{global.session_timeout};
  const auto epoch = flags.make    ? MakeEpoch(**client, flags.above, wait)
                     : flags.raise ? RaiseEpoch(**client, flags.above.value_or(0), wait)
                                   : AskEpoch(**client, wait);
  if (!epoch.ok()) return Refuse(epoch.status());
  if (flags.raise && !global.quiet) {
    Complain(absl::StrCat("the epoch is ", *epoch,
                          " for sessions that begin from now on: those of before keep theirs, and "
                          "are refused; restart their processes"));
  }
  return Print(EpochText(*epoch, global.json)) ? kDone : kInternal;
}

// ---- zkr ensemble -------------------------------------------------------------------------------

namespace {

// Unlike with Refuse, a failed precondition is about this machine, not about the arguments.
int RefuseEnsemble(const absl::Status& status) {
  Complain(std::string(status.message()));
  if (absl::IsInvalidArgument(status)) return kUsage;
  if (absl::IsPermissionDenied(status)) return kDenied;
  return absl::IsInternal(status) ? kInternal : kUnavailable;
}

}  // namespace

int StartEnsemble(const GlobalFlags& global, const EnsembleFlags& flags) {
  const absl::StatusOr<std::string> servers =
      testing::StartDetached(flags.directory, {flags.servers, flags.port},
                             [](const std::string& line) { Complain(line); });
  if (!servers.ok()) return RefuseEnsemble(servers.status());
  const std::string text =
      global.json ? StartedJson(flags.directory, *servers) : absl::StrCat(*servers, "\n");
  return Print(text) ? kDone : kInternal;
}

int StopEnsemble(const GlobalFlags& global, const EnsembleFlags& flags) {
  const absl::StatusOr<int> ended = testing::StopDetached(flags.directory);
  // Stopping what is stopped is a success, so scripts can stop without asking first.
  const bool none = absl::IsNotFound(ended.status());
  if (!ended.ok() && !none) return RefuseEnsemble(ended.status());
  Complain(none ? absl::StrCat("no ensemble in ", flags.directory)
                : absl::StrCat("stopped ", *ended, " ZooKeeper server(s)"));
  if (!global.json) return kDone;
  return Print(StoppedJson(flags.directory, ended.value_or(0))) ? kDone : kInternal;
}

int ShowEnsemble(const GlobalFlags& global, const EnsembleFlags& flags) {
  const auto status = testing::LookAtDetached(flags.directory);
  if (!status.ok() && !absl::IsNotFound(status.status())) return RefuseEnsemble(status.status());
  // No ensemble is an answer as well: programs get it as JSON, with exit status 69.
  if (!status.ok()) Complain(status.status());
  const testing::DetachedStatus shown = status.ok() ? *status : testing::DetachedStatus();
  if (!Print(global.json ? StatusJson(flags.directory, shown) : StatusText(shown)))
    return kInternal;
  return shown.has_quorum ? kDone : kUnavailable;
}

}  // namespace zkrecipes::zkr::commands
