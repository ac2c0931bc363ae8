// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/owner.h"

#include "absl/strings/str_cat.h"

namespace zkr {

using nlohmann::ordered_json;
using zkrecipes::OwnerInfo;

std::string OwnerText(const OwnerInfo& owner) {
  std::string text = owner.id;
  if (!owner.host.empty()) absl::StrAppend(&text, text.empty() ? "" : "@", owner.host);
  if (!owner.host.empty() && owner.pid > 0) absl::StrAppend(&text, ":", owner.pid);
  return text.empty() ? "-" : text;
}

ordered_json OwnerJson(const OwnerInfo& owner) {
  ordered_json json = ordered_json::object();
  if (!owner.id.empty()) json["id"] = owner.id;
  if (!owner.host.empty()) json["host"] = owner.host;
  if (owner.pid > 0) json["pid"] = owner.pid;
  return json;
}

std::string ToLine(const ordered_json& object) {
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace zkr
