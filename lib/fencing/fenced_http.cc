// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing/fenced_http.h"

#include <cstdint>
#include <variant>

#include "absl/functional/function_ref.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace zkrecipes {
namespace {

constexpr char kModeHint[] = "mode must be exclusive, shared or leader";

absl::Status Malformed(const char* header, const std::string& value, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(header, ": \"", absl::CHexEscape(value.substr(0, 100)), "\": ", why));
}

// Decimal, from 0 on, as this library writes it.
std::optional<int64_t> Number(absl::string_view text) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 0) return std::nullopt;
  return absl::StrCat(number) == text ? std::optional(number) : std::nullopt;
}

// Gives `take` each name=value behind the first part; what it returns says what is wrong with it,
// or "".
std::string TakeParameters(
    const std::vector<absl::string_view>& parts,
    absl::FunctionRef<std::string(absl::string_view name, absl::string_view value)> take) {
  std::vector<absl::string_view> names;
  for (size_t i = 1; i < parts.size(); ++i) {
    absl::string_view part = parts[i];
    // One space, as ToHttpHeader writes it: whatever else a client writes, it may mean something
    // else.
    absl::ConsumePrefix(&part, " ");
    const size_t equals = part.find('=');
    if (equals == absl::string_view::npos) return "a parameter must be name=value";
    const absl::string_view name = part.substr(0, equals);
    for (const absl::string_view other : names) {
      if (other == name) return absl::StrCat(name, " is there twice");
    }
    names.push_back(name);
    if (std::string wrong = take(name, part.substr(equals + 1)); !wrong.empty()) return wrong;
  }
  return "";
}

std::string TakeNumber(absl::string_view name, absl::string_view value, int64_t& number) {
  const auto parsed = Number(value);
  if (!parsed) return absl::StrCat(name, " must be a number from 0 on");
  number = *parsed;
  return "";
}

std::string TakeMode(absl::string_view value, GrantMode& mode) {
  for (const GrantMode known : {GrantMode::kExclusive, GrantMode::kShared, GrantMode::kLeader}) {
    if (ToString(known) != std::string(value)) continue;
    mode = known;
    return "";
  }
  return kModeHint;
}

std::string Unknown(absl::string_view name) {
  return absl::StrCat("the parameter \"", absl::CHexEscape(name), "\" is not known");
}

HttpRefusal Refusal(int status, absl::string_view why) {
  return {status, {}, absl::StrCat(why, "\n")};
}

std::variant<FencingPass, HttpRefusal> OnlyPass(const std::vector<std::string>& values) {
  if (values.empty()) {
    return Refusal(428, absl::StrCat(kFencingTokenHeader, " is missing: this needs a lock"));
  }
  // A proxy may pass on the client's header beside its own: neither is trusted to be the first.
  if (values.size() > 1) {
    return Refusal(400, absl::StrCat(kFencingTokenHeader, " is there ", values.size(), " times"));
  }
  const auto pass = ParseFencingTokenHeader(values[0]);
  if (!pass.ok()) return Refusal(400, pass.status().message());
  return *pass;
}

// Of a gate's answer.
std::optional<HttpRefusal> RefusalOf(const absl::Status& status,
                                     absl::FunctionRef<FencingFloor()> floor) {
  if (status.ok()) return std::nullopt;
  // An error that is neither the client's fault nor staleness is the store's: the floor was not
  // raised, so the operation must not be done, and another try may succeed.
  if (absl::IsInvalidArgument(status)) return Refusal(400, status.message());
  if (!absl::IsFailedPrecondition(status)) return Refusal(503, status.message());
  HttpRefusal refusal = Refusal(412, status.message());
  refusal.headers.emplace_back(kFencingFloorHeader, ToHttpHeader(floor()));
  return refusal;
}

}  // namespace

std::string ToHttpHeader(const FencingPass& pass) {
  std::string text = pass.token.ToString();
  if (pass.epoch != 0) absl::StrAppend(&text, "; epoch=", pass.epoch);
  if (pass.mode != GrantMode::kExclusive) absl::StrAppend(&text, "; mode=", ToString(pass.mode));
  if (pass.turn != 0) absl::StrAppend(&text, "; turn=", pass.turn);
  return text;
}

std::string ToHttpHeader(const FencingFloor& floor) {
  std::string text = floor.exclusive.ToString();
  if (floor.epoch != 0) absl::StrAppend(&text, "; epoch=", floor.epoch);
  if (floor.shared != FencingToken()) absl::StrAppend(&text, "; shared=", floor.shared.value());
  if (floor.turn != 0) absl::StrAppend(&text, "; turn=", floor.turn);
  return text;
}

absl::StatusOr<FencingPass> ParseFencingTokenHeader(const std::string& value) {
  const std::vector<absl::string_view> parts = absl::StrSplit(value, ';');
  const auto token = FencingToken::Parse(std::string(parts[0]));
  if (!token.ok()) {
    return Malformed(kFencingTokenHeader, value, "it must begin with a token: a number from 1 on");
  }
  FencingPass pass = {.token = *token};
  // An unknown parameter may change what the others mean, so it is refused and not skipped.
  const std::string wrong =
      TakeParameters(parts, [&](absl::string_view name, absl::string_view text) {
        if (name == "epoch") return TakeNumber(name, text, pass.epoch);
        if (name == "mode") return TakeMode(text, pass.mode);
        if (name == "turn") return TakeNumber(name, text, pass.turn);
        return Unknown(name);
      });
  if (!wrong.empty()) return Malformed(kFencingTokenHeader, value, wrong);
  return pass;
}

absl::StatusOr<FencingFloor> ParseFencingFloorHeader(const std::string& value) {
  const std::vector<absl::string_view> parts = absl::StrSplit(value, ';');
  int64_t exclusive = 0, shared = 0;
  FencingFloor floor;
  std::string wrong = TakeNumber("it", parts[0], exclusive);
  if (wrong.empty()) {
    wrong = TakeParameters(parts, [&](absl::string_view name, absl::string_view text) {
      if (name == "epoch") return TakeNumber(name, text, floor.epoch);
      if (name == "shared") return TakeNumber(name, text, shared);
      if (name == "turn") return TakeNumber(name, text, floor.turn);
      return Unknown(name);
    });
  }
  if (!wrong.empty()) return Malformed(kFencingFloorHeader, value, wrong);
  floor.exclusive = FencingToken(exclusive);
  floor.shared = FencingToken(shared);
  return floor;
}

std::optional<HttpRefusal> AdmitRequest(FencingKey& key, const std::vector<std::string>& values) {
  const auto pass = OnlyPass(values);
  if (const auto* refusal = std::get_if<HttpRefusal>(&pass)) return *refusal;
  return RefusalOf(key.Admit(std::get<FencingPass>(pass)), [&key] { return key.floor(); });
}

std::optional<HttpRefusal> AdmitRequest(FencingGate& gate, const std::string& key,
                                        const std::vector<std::string>& values) {
  // First: a client that shows no pass gets no place in the gate, nor does one whose pass is stale.
  const auto pass = OnlyPass(values);
  if (const auto* refusal = std::get_if<HttpRefusal>(&pass)) return *refusal;
  return RefusalOf(gate.Admit(key, std::get<FencingPass>(pass)), [&] { return gate.FloorOf(key); });
}

absl::Status CheckHttpAnswer(int status, const std::string& floor) {
  // A 412 of If-Match has no floor, and means something else.
  if (status != 412 || floor.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("stale: the service's floor is ", absl::CHexEscape(floor.substr(0, 100))));
}

}  // namespace zkrecipes
