// SPDX-License-Identifier: Apache-2.0
//
// `zkr check`, `zkr break` and `zkr epoch`: one question, one answer.

#include "absl/strings/str_cat.h"

#include "tools/zkr/commands/client.h"
#include "tools/zkr/commands/commands.h"
#include "tools/zkr/commands/epoch.h"
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
  if (const absl::Status checked = CheckPath(flags.path); !checked.ok()) return Refuse(checked);
  const auto client = Connect(global);
  if (!client.ok()) return Refuse(client.status());
  // Only the node whose token was named is deleted: the holder that the user saw, not its
  // successor.
  const absl::Status broken =
      BreakContender(**client, flags.path, FencingToken(flags.token), {global.session_timeout});
  if (absl::IsNotFound(broken)) {
    Complain(broken);
    return kNo;
  }
  if (!broken.ok()) return Refuse(broken);
  Complain(absl::StrCat("deleted the contender for ", flags.path, " with token ", flags.token));
  return kDone;
}

int RunEpoch(const GlobalFlags& global, const EpochFlags& flags) {
  const auto client = Connect(global);
  if (!client.ok()) return Refuse(client.status());
  const WaitOptions wait{global.session_timeout};
  const auto epoch =
      flags.raise ? RaiseEpoch(**client, flags.above, wait) : AskEpoch(**client, wait);
  if (!epoch.ok()) return Refuse(epoch.status());
  if (flags.raise && !global.quiet) {
    Complain(absl::StrCat("the epoch is ", *epoch,
                          " for sessions that begin from now on: those of before keep theirs, and "
                          "are refused; restart their processes"));
  }
  return Print(EpochText(*epoch, global.json)) ? kDone : kInternal;
}

}  // namespace zkrecipes::zkr::commands
