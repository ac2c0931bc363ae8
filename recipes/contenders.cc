// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/contenders.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/one_shot.h"
#include "lib/queue/queue_listing.h"
#include "lib/session/client_core.h"
#include "lib/session/client_options.h"
#include "lib/zk/path.h"

namespace zkrecipes {

absl::StatusOr<std::vector<ContenderInfo>> ListContenders(Client& client, const std::string& path,
                                                          const WaitOptions& wait) {
  using Answer = absl::StatusOr<std::vector<ContenderInfo>>;
  const auto& core = internal::ClientAccess::Core(client);
  for (const absl::Status& status :
       {zk::ValidatePath("path", path), internal::CheckWaitOptions(wait), core->CheckMayBlock()}) {
    if (!status.ok()) return status;
  }
  const base::BootTime deadline = core->Now() + wait.timeout;
  auto answer = std::make_shared<base::OneShot<Answer>>();
  core->Post([answer, parent = core->name_space().ToServer(path)](session::Session* session) {
    if (session == nullptr) {
      answer->Set(absl::FailedPreconditionError("the client is closed"));
      return;
    }
    queue::ReadQueue(*session, parent, [answer](Answer a) { answer->Set(std::move(a)); });
  });
  if (auto given = core->Await(*answer, deadline, wait.cancel)) return *std::move(given);
  const std::string what = absl::StrCat("list ", path, ": ");
  if (wait.cancel.stop_requested()) return absl::CancelledError(absl::StrCat(what, "cancelled"));
  return absl::DeadlineExceededError(
      absl::StrCat(what, "not answered within ", absl::FormatDuration(wait.timeout)));
}

}  // namespace zkrecipes
