// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/wire/answers.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "lib/zk/seam/code.h"
#include "lib/zk/wire/jute_reader.h"

namespace zkrecipes::zk::wire {
namespace {

constexpr size_t kPasswordSize = 16;  // of a session
constexpr size_t kStatSize =
    68;  // czxid, mzxid, ctime, mtime, three versions, owner, two sizes, pzxid
constexpr int32_t kConnected = 3;
constexpr int32_t kCreatedEvent = 1;
constexpr int32_t kChildEvent = 4;

// A server grants 2 to 20 of its ticks. With less than this the C client, which gives a connection
// up after two thirds, would do nothing but reconnect; with more, it multiplies past the end of an
// int.
constexpr int32_t kShortestTimeoutMs = 10;
constexpr int32_t kLongestTimeoutMs = 1 << 30;

// Each name costs the C client and us some eighty bytes, however short it is: sixty-four megabytes
// of names without letters would become more than a gigabyte.
constexpr int32_t kMostNames = 1 << 20;

enum class Form { kNothing, kStat, kPathAndStat, kDataAndStat, kNames, kAclAndStat };

struct Operation {
  int32_t type;
  const char* name;
  Form form;
};
constexpr int32_t kCreate = 1;  // in a multi
constexpr int32_t kSetData = 5;
constexpr int32_t kCreate2 = 15;
constexpr int32_t kCreateContainer = 19;
constexpr int32_t kFailed = -1;  // in a multi's answer: an error, and the end
// All that c_requests.cc sends.
constexpr Operation kOperations[] = {
    {2, "delete", Form::kNothing},
    {3, "exists", Form::kStat},
    {4, "getData", Form::kDataAndStat},
    {kSetData, "setData", Form::kStat},
    {6, "getACL", Form::kAclAndStat},
    {8, "getChildren", Form::kNames},
    {kCreate2, "create2", Form::kPathAndStat},
    {18, "removeWatches", Form::kNothing},
    {kCreateContainer, "createContainer", Form::kPathAndStat},
};

const Operation* Find(int32_t type) {
  const auto* found = std::ranges::find(kOperations, type, &Operation::type);
  return found == std::end(kOperations) ? nullptr : found;
}

// A wrong count ends at the end of the frame, at the latest.
int32_t ReadCount(JuteReader& reader) {
  const int32_t count = reader.Int();
  if (count < 0 || count > kMostNames) reader.Fail();
  return count;
}

void ReadNames(JuteReader& reader) {
  const int32_t count = ReadCount(reader);
  for (int32_t i = 0; i < count && reader.ok(); ++i) reader.String();
}

void ReadAcl(JuteReader& reader) {
  const int32_t count = ReadCount(reader);
  for (int32_t i = 0; i < count && reader.ok(); ++i) {
    reader.Int();     // the permissions
    reader.String();  // the scheme
    reader.String();  // the id
  }
}

void Read(Form form, JuteReader& reader) {
  if (form == Form::kNames) return ReadNames(reader);
  if (form == Form::kAclAndStat) ReadAcl(reader);
  if (form == Form::kPathAndStat) reader.String();
  if (form == Form::kDataAndStat) reader.Buffer();
  if (form != Form::kNothing) reader.Bytes(kStatSize);
}

// What is wrong with what `reader` has read up to here.
std::string WrongEnd(const JuteReader& reader) {
  if (!reader.ok()) return "is cut short or has impossible lengths";
  return reader.rest().empty() ? "" : "is too long";
}

// ---- the frames of a multi ---------------------------------------------------------------------

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
  if (type == kCreate) ReadAcl(reader);
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
    outcome.has_cause |= error != 0 && error != static_cast<int32_t>(Code::kRuntimeInconsistency);
    return error == 0 ? "" : WrongError(error);
  }
  if (header.type != asked.type) return "its multi answers another operation than was asked";
  ++outcome.done;
  if (asked.type == kSetData) reader.Bytes(kStatSize);
  if (asked.type != kCreate) return "";
  const absl::string_view made = reader.String();
  return made == asked.path || !reader.ok() ? "" : "it has made another node than it was asked for";
}

}  // namespace

std::string WrongWelcome(absl::string_view frame, int64_t asked_session) {
  JuteReader reader(frame);
  const int32_t protocol = reader.Int();
  const int32_t timeout_ms = reader.Int();
  const int64_t session = reader.Long();
  if (protocol != 0) return absl::StrCat("its protocol has version ", protocol);
  const absl::string_view password = reader.Buffer();
  // Servers before 3.4 do not say whether they are read-only.
  const absl::string_view read_only = reader.rest();
  if (!reader.ok() || password.size() != kPasswordSize || read_only.size() > 1) {
    return "its handshake has impossible lengths";
  }
  if (!read_only.empty() && read_only[0] != '\0') return "it offers a read-only session";
  // The session has expired; the rest of such an answer means nothing.
  if (session == 0 && asked_session != 0) return "";
  if (session == 0) return "it grants no session";
  if (asked_session != 0 && session != asked_session) {
    return "it grants another client's session";
  }
  // Last, since a refusal that names the real reason is worth more.
  if (timeout_ms < kShortestTimeoutMs || timeout_ms >= kLongestTimeoutMs) {
    return absl::StrCat("it grants a session timeout of ", timeout_ms, " ms");
  }
  return "";
}

std::string AsQuestion(absl::string_view handshake) {
  constexpr size_t kSeenAt = 4, kSessionAt = 16, kPasswordAt = 28;
  constexpr size_t kNumber = 8;
  std::string question(handshake);
  if (question.size() < kPasswordAt + kPasswordSize) return question;
  question.replace(kSeenAt, kNumber, kNumber, '\0');
  // No server gives out so small a number. Each client has another one, since a server that is
  // asked for one session by two connections closes the first.
  question.replace(kSessionAt, kNumber - 2, kNumber - 2, '\0');
  if (question[kSessionAt + kNumber - 2] == '\0') question[kSessionAt + kNumber - 2] = '\1';
  question.replace(kPasswordAt, kPasswordSize, kPasswordSize, '\0');
  return question;
}

bool IsKeepersWelcome(absl::string_view frame) {
  JuteReader reader(frame);
  reader.Bytes(8);  // its protocol's version, the session timeout
  const bool granted = reader.Long() != 0;
  const absl::string_view password = reader.Buffer();
  return reader.ok() && granted && password.size() == kPasswordSize &&
         std::ranges::all_of(password, [](char c) { return c == '\0'; });
}

std::string WrongAnswer(int32_t type, absl::string_view body) {
  const Operation* operation = Find(type);
  if (operation == nullptr) {
    return absl::StrCat("it answers operation ", type, ", which was never asked");
  }
  JuteReader reader(body);
  Read(operation->form, reader);
  const std::string wrong = WrongEnd(reader);
  if (wrong.empty()) return "";
  return absl::StrCat("its answer to ", operation->name, " ", wrong);
}

bool MayBeLong(int32_t type) {
  const Operation* operation = Find(type);
  return operation != nullptr &&
         (operation->form == Form::kNames || operation->form == Form::kDataAndStat ||
          operation->form == Form::kAclAndStat);
}

bool IsCreate(int32_t type) { return type == kCreate2 || type == kCreateContainer; }

std::vector<MultiOp> ReadMulti(absl::string_view body) {
  std::vector<MultiOp> ops;
  JuteReader reader(body);
  for (Header next = ReadHeader(reader); !next.done; next = ReadHeader(reader)) {
    ops.push_back({next.type, std::string(reader.String())});
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
    // The C client would count the operations that have no answer as done.
    if (header.done) return "its answer to multi leaves operations out";
    std::string wrong = ReadOne(op, header, reader, outcome);
    if (!wrong.empty()) return wrong;
  }
  const Header end = ReadHeader(reader);
  if (!reader.ok()) return "its answer to multi is cut short or has impossible lengths";
  if (!end.done || !reader.rest().empty()) return "its answer to multi is too long";
  if (outcome.failed == 0) return "";
  // All or none: a mixture can only be another protocol, or a lie.
  if (outcome.done > 0) return "its multi has done some operations and not others";
  return outcome.has_cause ? "" : "its multi has failed without a cause";
}

std::string WrongEvent(absl::string_view body) {
  JuteReader reader(body);
  const int32_t type = reader.Int();
  const int32_t state = reader.Int();
  const absl::string_view path = reader.String();
  if (const std::string wrong = WrongEnd(reader); !wrong.empty()) {
    return absl::StrCat("its watch event ", wrong);
  }
  if (type < kCreatedEvent || type > kChildEvent) {
    return absl::StrCat("its watch event has type ", type);
  }
  // Servers say this with every event; other states are those of events that a client makes.
  if (state != kConnected) return absl::StrCat("its watch event has state ", state);
  if (!absl::StartsWith(path, "/")) return "its watch event has no path";
  return "";
}

std::string WrongError(int32_t code) {
  for (const Code own : {Code::kConnectionLoss, Code::kOperationTimeout, Code::kInvalidState,
                         Code::kClosing, Code::kReplyTooLong}) {
    if (code == static_cast<int32_t>(own)) {
      return absl::StrCat("it reports ", CodeName(own), ", which only a client does");
    }
  }
  return code > 0 ? absl::StrCat("it reports an error ", code) : "";
}

}  // namespace zkrecipes::zk::wire
