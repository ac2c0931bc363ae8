// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/contenders.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "lib/base/one_shot.h"
#include "lib/queue/queue_listing.h"
#include "lib/session/client_core.h"
#include "lib/session/client_options.h"
#include "lib/zk/path.h"

namespace zkrecipes {

namespace {

using Answer = absl::StatusOr<std::vector<ContenderInfo>>;

constexpr absl::Duration kPause = absl::Milliseconds(100);

// Nothing: not answered by then, or cancelled.
std::optional<Answer> ListOnce(internal::ClientCore& core, const std::string& path,
                               base::BootTime deadline, const std::stop_token& cancel) {
  auto answer = std::make_shared<base::OneShot<Answer>>();
  core.Post([answer, parent = core.name_space().ToServer(path)](session::Session* session) {
    if (session == nullptr) {
      answer->Set(absl::FailedPreconditionError("the client is closed"));
      return;
    }
    queue::ReadQueue(*session, parent, [answer](Answer a) { answer->Set(std::move(a)); });
  });
  return core.Await(*answer, deadline, cancel);
}

}  // namespace

absl::StatusOr<std::vector<ContenderInfo>> ListContenders(Client& client, const std::string& path,
                                                          const WaitOptions& wait) {
  const auto& core = internal::ClientAccess::Core(client);
  for (const absl::Status& status :
       {zk::ValidatePath("path", path), internal::CheckWaitOptions(wait), core->CheckMayBlock()}) {
    if (!status.ok()) return status;
  }
  const base::BootTime deadline = core->Now() + wait.timeout;
  std::string trouble;
  while (std::optional<Answer> answer = ListOnce(*core, path, deadline, wait.cancel)) {
    // Lost with a connection: to ask again changes nothing on the server.
    if (!absl::IsUnavailable(answer->status())) return *std::move(answer);
    trouble = absl::StrCat(" (", std::string(answer->status().message()), ")");
    base::OneShot<char> nothing;
    (void)core->Await(nothing, std::min(deadline, core->Now() + kPause), wait.cancel);
    if (wait.cancel.stop_requested() || core->Now() >= deadline) break;
  }
  const std::string what = absl::StrCat("list ", path, ": ");
  if (wait.cancel.stop_requested()) return absl::CancelledError(absl::StrCat(what, "cancelled"));
  return absl::DeadlineExceededError(
      absl::StrCat(what, "not answered within ", absl::FormatDuration(wait.timeout), trouble));
}

}  // namespace zkrecipes
