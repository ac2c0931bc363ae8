// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/wire/multi_frames.h"

#include "absl/hash/hash.h"

#include "lib/zk/seam/code.h"
#include "lib/zk/wire/answers.h"
#include "lib/zk/wire/jute_reader.h"

namespace zkrecipes::zk::wire {
namespace {

constexpr int32_t kCreate = 1;
constexpr int32_t kSetData = 5;
constexpr int32_t kFailed = -1;  // the type of an answer that is an error, and of the end
constexpr int32_t kInconsistency = static_cast<int32_t>(Code::kRuntimeInconsistency);

// In front of each operation and of each answer, and at the end of all.
struct Header {
  int32_t type;
  bool done;
};

Header ReadHeader(JuteReader& reader) {
  const int32_t type = reader.Int();
  const absl::string_view done = reader.Bytes(1);
  reader.Int();  // an error, which follows once more
  if (reader.ok() && done[0] != '\0' && done[0] != '\1') reader.Fail();
  return {type, !reader.ok() || done[0] != '\0'};
}

void SkipRest(int32_t type, JuteReader& reader) {
  if (type == kCreate || type == kSetData) reader.Buffer();
  if (type == kCreate) {
    for (int32_t entries = reader.Int(); entries > 0 && reader.ok(); --entries) {
      reader.Int();
      reader.String();
      reader.String();
    }
  }
  reader.Int();  // the flags, or the version
}

// How far a multi got.
struct Outcome {
  int done = 0;
  int failed = 0;
  bool has_cause = false;  // an error that is the operation's own
};

std::string ReadOne(const MultiOp& asked, const Header& header, JuteReader& reader,
                    Outcome& outcome) {
  if (header.type == kFailed) {
    const int32_t error = reader.Int();
    ++outcome.failed;
    outcome.has_cause |= error != 0 && error != kInconsistency;
    return error == 0 ? "" : WrongError(error);
  }
  if (header.type != asked.type) return "its multi answers another operation than was asked";
  ++outcome.done;
  if (asked.type == kSetData) reader.Bytes(kStatSize);
  if (asked.type != kCreate) return "";
  const absl::string_view made = reader.String();
  const bool same = made.size() == asked.path_size && absl::HashOf(made) == asked.path_hash;
  return same || !reader.ok() ? "" : "it has made another node than it was asked for";
}

}  // namespace

std::vector<MultiOp> ReadMulti(absl::string_view body) {
  std::vector<MultiOp> ops;
  JuteReader reader(body);
  for (Header next = ReadHeader(reader); !next.done; next = ReadHeader(reader)) {
    const absl::string_view path = reader.String();
    ops.push_back({next.type, path.size(), absl::HashOf(path)});
    SkipRest(next.type, reader);
  }
  return ops;
}

std::string WrongMultiAnswer(const std::vector<MultiOp>& asked, absl::string_view body) {
  JuteReader reader(body);
  Outcome outcome;
  for (const MultiOp& op : asked) {
    const Header header = ReadHeader(reader);
    if (!reader.ok()) break;
    if (header.done) return "its answer to multi leaves operations out";
    std::string wrong = ReadOne(op, header, reader, outcome);
    if (!wrong.empty()) return wrong;
  }
  const Header end = ReadHeader(reader);
  if (!reader.ok()) return "its answer to multi is cut short or has impossible lengths";
  if (!end.done || !reader.rest().empty()) return "its answer to multi is too long";
  if (outcome.failed == 0) return "";
  if (outcome.done > 0) return "its multi has done some operations and not others";
  return outcome.has_cause ? "" : "its multi has failed without a cause";
}

}  // namespace zkrecipes::zk::wire
