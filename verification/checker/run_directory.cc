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

namespace zkrecipes::history {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// By path; none of a directory that is not there.
template <typename Iterator>
std::vector<std::string> FilesIn(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : Iterator(directory, error)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

absl::Status ReadHistories(const std::string& directory, RunRecords& run) {
  bool any = false;
  for (const std::string& file : FilesIn<fs::directory_iterator>(directory)) {
    if (!absl::EndsWith(file, ".jsonl") && !absl::EndsWith(file, ".history")) continue;
    absl::StatusOr<std::vector<Event>> history = ReadHistory(file);
    if (!history.ok()) return history.status();
    any = true;
    std::ranges::move(*history, std::back_inserter(run.events));
  }
  if (any) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("no *.jsonl or *.history in ", directory));
}

absl::Status ReadLogs(const std::string& directory, RunRecords& run) {
  std::vector<std::string> logs = FilesIn<fs::recursive_directory_iterator>(directory + "/logs");
  std::erase_if(logs, [](const std::string& file) {
    return !absl::StartsWith(fs::path(file).filename().string(), "log.");
  });
  auto transactions = ReadTransactionLogs(logs);
  if (!transactions.ok()) return transactions.status();
  run.transactions = *std::move(transactions);
  return absl::OkStatus();
}

struct DurationField {
  const char* name;
  absl::Duration unit;
  absl::Duration Limits::*member;
};
const DurationField kDurations[] = {
    {"progress_ms", absl::Milliseconds(1), &Limits::progress},
    {"recovery_ms", absl::Milliseconds(1), &Limits::recovery},
    {"wall_less_boot_ns", absl::Nanoseconds(1), &Limits::wall_less_boot},
};

template <typename T>
void Read(const Json& json, const char* name, T& into) {
  if (json.contains(name)) into = json[name].get<T>();
}

}  // namespace

absl::StatusOr<std::vector<Event>> ReadHistory(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  std::vector<Event> history;
  std::string line;
  for (int number = 1; std::getline(file, line) && !file.eof(); ++number) {
    absl::StatusOr<Event> event = FromLine(line);
    if (!event.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", number, ": ", event.status().message()));
    }
    history.push_back(*std::move(event));
  }
  return history;
}

std::string ToJson(const std::string& title, const Limits& limits) {
  Json json = {{"title", title}};
  for (const DurationField& field : kDurations) {
    json[field.name] = limits.*field.member / field.unit;
  }
  if (limits.left.has_value()) json["left"] = *limits.left;
  return json.dump(2) + "\n";
}

absl::StatusOr<RunRecords> FromJson(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError("not an object of JSON");
  RunRecords run;
  try {  // the library has no other way to say that a value is of another type
    Read(json, "title", run.title);
    for (const DurationField& field : kDurations) {
      int64_t count = run.limits.*field.member / field.unit;
      Read(json, field.name, count);
      run.limits.*field.member = count * field.unit;
    }
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
    absl::StatusOr<RunRecords> read = FromJson({std::istreambuf_iterator<char>(file), {}});
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

absl::Status WriteFile(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  out.close();
  return out ? absl::OkStatus() : absl::InternalError(absl::StrCat("cannot write ", path));
}

}  // namespace zkrecipes::history
