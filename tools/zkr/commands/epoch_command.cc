// SPDX-License-Identifier: Apache-2.0
//
// `zkr epoch`.

#include "absl/strings/str_cat.h"

#include "tools/zkr/commands/client.h"
#include "tools/zkr/commands/epoch.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::commands {

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
