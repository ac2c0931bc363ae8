// SPDX-License-Identifier: Apache-2.0
//
// `zkr check` and `zkr break`: one question, one answer.

#include "absl/strings/str_cat.h"

#include "tools/zkr/commands/client.h"
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

}  // namespace zkrecipes::zkr::commands
