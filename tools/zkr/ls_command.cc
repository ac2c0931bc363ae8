// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"

#include "tools/zkr/client.h"
#include "tools/zkr/output.h"
#include "zkrecipes/contenders.h"

namespace zkrecipes::zkr {

int RunLs(const GlobalFlags& global, const std::string& path) {
  if (const absl::Status checked = CheckPath(path); !checked.ok()) return Refuse(checked);
  const auto client = Connect(global);
  if (!client.ok()) return Refuse(client.status());
  const auto queue = ListContenders(**client, path, {global.session_timeout});
  if (!queue.ok()) return Refuse(queue.status());
  if (global.json) {
    std::fputs(QueueJson(path, *queue).c_str(), stdout);
  } else if (queue->empty()) {
    Complain(absl::StrCat("nobody holds or waits for ", path));
  } else {
    std::fputs(QueueText(*queue).c_str(), stdout);
  }
  return kDone;
}

}  // namespace zkrecipes::zkr
