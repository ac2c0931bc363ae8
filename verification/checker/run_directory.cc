// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/run_directory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

#include "verification/checker/history_file.h"

namespace zkrecipes::history {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::vector<std::string> FilesIn(const std::string& directory, bool below) {
  std::vector<std::string> files;
  std::error_code error;  // a directory that is not there has no files
  if (below) {
    for (const auto& entry : fs::recursive_directory_iterator(directory, error)) {
      files.push_back(entry.path().string());
    }
  } else {
    for (const auto& entry : fs::directory_iterator(directory, error)) {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::Status ReadHistories(const std::string& directory, RunRecords& run) {
  bool any = false;
  for (const std::string& file : FilesIn(directory, /*below=*/false)) {
    if (!absl::EndsWith(file, ".jsonl") && !absl::EndsWith(file, ".history")) continue;
    absl::StatusOr<History> history = ReadHistory(file);
    if (!history.ok()) return history.status();
    any = true;
    run.events.insert(run.events.end(), std::make_move_iterator(history->events.begin()),
                      std::make_move_iterator(history->events.end()));
  }
  if (any) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("no *.jsonl or *.history in ", directory));
}

absl::Status ReadLogs(const std::string& directory, RunRecords& run) {
  std::vector<std::string> logs = FilesIn(directory + "/logs", /*below=*/true);
  logs.erase(std::remove_if(logs.begin(), logs.end(),
                            [](const std::string& file) {
                              return !absl::StartsWith(fs::path(file).filename().string(), "log.");
                            }),
             logs.end());
  auto transactions = ReadTransactionLogs(logs);
  if (!transactions.ok()) return transactions.status();
  run.transactions = *std::move(transactions);
  return absl::OkStatus();
}

void Read(const Json& json, const char* name, absl::Duration unit, absl::Duration& into) {
  if (json.contains(name)) into = json[name].get<int64_t>() * unit;
}

template <typename T>
void Read(const Json& json, const char* name, T& into) {
  if (json.contains(name)) into = json[name].get<T>();
}

}  // namespace

std::string ToJson(const std::string& title, const Limits& limits) {
  Json json = {{"title", title},
               {"progress_ms", absl::ToInt64Milliseconds(limits.progress)},
               {"recovery_ms", absl::ToInt64Milliseconds(limits.recovery)},
               {"rounding_ms", absl::ToInt64Milliseconds(limits.rounding)},
               {"wall_less_boot_ns", absl::ToInt64Nanoseconds(limits.wall_less_boot)},
               {"failures_under_faults", limits.failures_under_faults},
               {"failures_at_rest", limits.failures_at_rest}};
  if (limits.left.has_value()) json["left"] = *limits.left;
  return json.dump(2) + "\n";
}

absl::StatusOr<RunRecords> FromJson(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError("not an object of JSON");
  RunRecords run;
  try {  // the library has no other way to say that a value is of another type
    Read(json, "title", run.title);
    Read(json, "progress_ms", absl::Milliseconds(1), run.limits.progress);
    Read(json, "recovery_ms", absl::Milliseconds(1), run.limits.recovery);
    Read(json, "rounding_ms", absl::Milliseconds(1), run.limits.rounding);
    Read(json, "wall_less_boot_ns", absl::Nanoseconds(1), run.limits.wall_less_boot);
    Read(json, "failures_under_faults", run.limits.failures_under_faults);
    Read(json, "failures_at_rest", run.limits.failures_at_rest);
    if (json.contains("left")) Read(json, "left", run.limits.left.emplace());
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
  return run;
}

absl::StatusOr<RunRecords> ReadRunDirectory(const std::string& directory) {
  RunRecords run;
  const std::string path = directory + "/run.json";
  if (std::ifstream file(path); file) {
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    absl::StatusOr<RunRecords> read = FromJson(text);
    if (!read.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", read.status().message()));
    }
    run = *std::move(read);
  }
  if (run.title.empty()) run.title = fs::path(directory).lexically_normal().string();
  if (absl::Status read = ReadHistories(directory, run); !read.ok()) return read;
  if (absl::Status read = ReadLogs(directory, run); !read.ok()) return read;
  if (!run.transactions.empty() && run.limits.wall_less_boot == absl::ZeroDuration()) {
    return absl::InvalidArgumentError(path + " has no wall_less_boot_ns, which logs/ needs");
  }
  return run;
}

}  // namespace zkrecipes::history
