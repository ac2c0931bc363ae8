// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "lib/queue/call/ask.h"
#include "lib/session/client/client_core.h"
#include "lib/session/epoch_record.h"
#include "tools/zkr/commands/client.h"

namespace zkrecipes::zkr::commands {
namespace {

using queue::call::AskedStatus;
using session::kEpochPath;
using session::MostEpochOf;
using EpochAnswer = absl::StatusOr<std::int64_t>;
using EpochDone = absl::AnyInvocable<void(EpochAnswer) &&>;

// How often a command writes the record at most to come to an epoch: see MostEpochOf. A raise waits
// for each write. Those of a make are one transaction of half a megabyte; servers take a whole one.
constexpr std::int64_t kMostWrites = 1000, kMostInMake = 10'000;

// Sessions that began on the way would have an epoch that resources refuse.
absl::Status TooHigh(std::int64_t epoch, std::int64_t most) {
  return absl::InvalidArgumentError(
      absl::StrCat("no epoch above ", epoch, ": this command comes to ", most,
                   " at most. Stop all clients first, say --above ", most - 1,
                   ", and go on by zkr epoch --raise --above, a million at a time; or give the "
                   "resources that have seen a higher epoch new floors"));
}

std::vector<zk::AclEntry> AclOf(bool has_users) {
  constexpr std::int32_t kRead = 1, kAll = 31;
  // With users everybody may read and only they may write: a stranger must not raise, or remove,
  // the epoch.
  if (!has_users) return {{kAll, "world", "anyone"}};
  return {{kAll, "auth", ""}, {kRead, "world", "anyone"}};
}

// One request of a raise, called `what` in messages. It is sent again if its answer was lost, or
// says nothing: a write names the version that was read, so it is not done twice.
absl::StatusOr<zk::Reply> AskForRaise(Client& client, const zk::Request& request,
                                      const std::string& what, const WaitOptions& wait) {
  const auto ask = [request, what](session::Session& session, auto done) {
    session.Send(request, [what, done = std::move(done)](const zk::Reply& reply) mutable {
      absl::Status status;
      if (reply.code != zk::Code::kOk) status = AskedStatus(reply.code, what, kEpochPath);
      if (absl::IsUnavailable(status)) return std::move(done)(std::move(status));
      std::move(done)(reply);
    });
  };
  return queue::call::AskUntilAnswered<zk::Reply>(*internal::ClientAccess::Core(client),
                                                  "raise the epoch", wait, ask);
}

// Record and parent anew, with ACLs that never were others. All of it is one transaction: a session
// that began in between would take no record, or a step on the way, for its epoch, though others
// have a later one. A try again finds what it has made, and makes the same once more. The new
// record is written until its version is above the old one's: a raise or a make that read the old
// one, and goes on after this, fails by its version instead of taking the epoch back.
class Make : public std::enable_shared_from_this<Make> {
 public:
  explicit Make(std::optional<std::int64_t> above) : above_(above) {}

  void Try(session::Session& session, EpochDone done) {
    const auto first = std::make_shared<Before>();
    session.Send(zk::Get{session::kEpochParent},
                 [first](const zk::Reply& r) { first->parent = r; });
    // Its version, which older servers show of a record that may not be read, too. The watch goes
    // with the session.
    session.Send(zk::WatchExists{kEpochPath}, [first](const zk::Reply& r) { first->stat = r; });
    session.Send(zk::Get{kEpochPath}, [self = shared_from_this(), &session, first,
                                       done = std::move(done)](const zk::Reply& record) mutable {
      self->OnRead(session, *first, record, std::move(done));
    });
  }

 private:
  struct Before {
    zk::Reply parent{};
    zk::Reply stat{};
  };

  void OnRead(session::Session& session, const Before& first, const zk::Reply& record,
              EpochDone done) {
    const EpochAnswer now = session::EpochIn(record);
    const bool known =
        now.ok() || absl::IsFailedPrecondition(now.status()) || record.code == zk::Code::kNoAuth;
    if (!known) {
      return std::move(done)(AskedStatus(record.code, "get the epoch's record", kEpochPath));
    }
    if (!now.ok() && !above_) {
      return std::move(done)(absl::Status(
          now.status().code(),
          absl::StrCat(now.status().message(),
                       ". Say --above N: N is the highest epoch that any resource has seen")));
    }
    const zk::Stat& stat = first.stat.stat;
    // ZooKeeper 3.8.4, 3.9.2 and later show nothing of it.
    const bool hidden = first.stat.code == zk::Code::kNoAuth && record.code == zk::Code::kNoAuth;
    const bool there = hidden || first.stat.code == zk::Code::kOk;
    if (!there && first.stat.code != zk::Code::kNoNode) {
      return std::move(done)(
          AskedStatus(first.stat.code, "look at the epoch's record", kEpochPath));
    }
    // A data version goes below 0 after 2^31 writes, and -1 would be any.
    const std::int64_t version = hidden ? kHiddenVersion : there ? stat.version : -1;
    const bool made = made_ && now.ok() && there && *made_ == std::pair(*now, version);
    if (made) return std::move(done)(now);  // by this, whose answer was lost
    if (there && (version < 0 || version >= kMostInMake)) return std::move(done)(Worn(version));
    const std::int64_t most = MostEpochOf(0) * (kMostInMake + 1);
    const std::int64_t least = std::max(now.value_or(0), above_.value_or(-1));
    if (least >= most) return std::move(done)(TooHigh(least, most));
    const std::int64_t target = std::max(now.value_or(0), above_ ? *above_ + 1 : 0);
    zk::Multi all;
    // A raise or a make that came since then makes this fail: the data that was read after it is
    // that of this version.
    if (there) all.ops.push_back(zk::Delete{kEpochPath, hidden ? -1 : stat.version});
    if (first.parent.code != zk::Code::kNoNode) {
      all.ops.push_back(zk::Delete{session::kEpochParent});
    }
    made_ = {target, AddRecord(target, version, all)};
    Send(session, all, target, std::move(done));
  }

  static absl::Status Worn(std::int64_t version) {
    return absl::FailedPreconditionError(absl::StrCat(
        "make the epoch's record: the data of ", kEpochPath, " is at version ", version,
        ", and a new record has to come above it by ", kMostInMake, " writes at most. Stop all ",
        "clients, and every other zkr epoch, delete the node by zkCli, then say --above N: N is "
        "the highest epoch that any resource has seen"));
  }

  // Above the version that was there; -1: none was. Its version then.
  static std::int64_t AddRecord(std::int64_t target, std::int64_t before, zk::Multi& all) {
    const auto persistent = zk::CreateMode::kPersistent;
    const std::vector<zk::AclEntry> acl = AclOf(/*has_users=*/true);
    std::int32_t version = 0;
    std::int64_t next = std::min(target, MostEpochOf(version));
    all.ops.push_back(zk::Create{session::kEpochParent, "", persistent, acl});
    all.ops.push_back(zk::Create{kEpochPath, absl::StrCat(next), persistent, acl});
    while (next < target || version <= before) {
      next = std::min(target, MostEpochOf(++version));
      all.ops.push_back(zk::SetData{kEpochPath, absl::StrCat(next), version - 1});
    }
    return version;
  }

  void Send(session::Session& session, const zk::Multi& all, std::int64_t target, EpochDone done) {
    session.Send(all, [self = shared_from_this(), &session, target,
                       done = std::move(done)](const zk::Reply& reply) mutable {
      using enum zk::Code;
      if (reply.code == kOk) return std::move(done)(target);
      const bool changed =
          reply.code == kBadVersion || reply.code == kNodeExists || reply.code == kNoNode;
      if (changed) return self->Try(session, std::move(done));
      const char* const what =
          "make the epoch's record anew (this needs the right to delete what "
          "is there, and no other node below /zkrecipes)";
      std::move(done)(AskedStatus(reply.code, what, kEpochPath));
    });
  }

  // Taken for the version of a record that hides it.
  static constexpr std::int64_t kHiddenVersion = 1000;

  const std::optional<std::int64_t> above_;
  std::optional<std::pair<std::int64_t, std::int64_t>> made_;  // epoch and version, as it was sent
};

}  // namespace

absl::StatusOr<std::int64_t> AskEpoch(Client& client, const WaitOptions& wait) {
  const auto reply = AskServer(client, zk::Get{kEpochPath}, wait);
  return reply.ok() ? session::EpochIn(*reply) : reply.status();
}

absl::StatusOr<std::int64_t> RaiseEpoch(Client& client, std::int64_t above,
                                        const WaitOptions& wait) {
  const auto persistent = zk::CreateMode::kPersistent;
  const auto acl = AclOf(internal::ClientAccess::Core(client)->has_users());
  // Fixed at the first read: what is read again may be this raise's own write.
  std::optional<std::int64_t> target;
  for (;;) {
    const auto record = AskForRaise(client, zk::Get{kEpochPath}, "get the epoch's record", wait);
    if (!record.ok()) return record.status();
    // A record that is not believed is never overwritten: an operator has to say what it should be.
    const auto now = session::EpochIn(*record);
    if (!now.ok()) return now;
    const std::int64_t least = std::max(*now, above);
    const std::int64_t most = MostEpochOf(record->stat.version) + kMostWrites * MostEpochOf(0);
    if (!target && least >= most) return TooHigh(least, most);
    if (!target) target = least + 1;
    // Written by this raise, whose answer was lost, or by another since it began.
    if (*now >= *target) return now;
    const bool none = record->code == zk::Code::kNoNode;
    const std::int32_t version = none ? 0 : record->stat.version + 1;
    const std::int64_t next = std::min(*target, MostEpochOf(version));
    // The version that was read goes with the write: a raise that came between makes it fail, not
    // go down. So does a make, whose record has a later version than any before.
    zk::Request write = zk::SetData{kEpochPath, absl::StrCat(next), version - 1};
    if (none) {
      write = zk::Create{kEpochPath, absl::StrCat(next), persistent, acl};
      // If the parent is missing after this, the second create says so.
      AskForRaise(client, zk::Create{session::kEpochParent, "", persistent, acl}, "make /zkrecipes",
                  wait)
          .IgnoreError();
    }
    const std::string what = absl::StrCat("raise the epoch: ", zk::OperationName(write));
    const auto written = AskForRaise(client, write, what, wait);
    if (!written.ok()) return written.status();
    if (written->code == zk::Code::kOk && next == *target) return next;
    // A step on the way is made, or another came first: its record is read.
    const bool again = written->code == zk::Code::kOk || written->code == zk::Code::kBadVersion ||
                       written->code == zk::Code::kNodeExists;
    if (!again) return zk::ToStatus(written->code, what, kEpochPath);
  }
}

absl::StatusOr<std::int64_t> MakeEpoch(Client& client, std::optional<std::int64_t> above,
                                       const WaitOptions& wait) {
  internal::ClientCore& core = *internal::ClientAccess::Core(client);
  if (!core.has_users()) {
    return absl::InvalidArgumentError(
        "make the epoch's record: give the users who may write it (--digest-file)");
  }
  const auto make = std::make_shared<Make>(above);
  const auto ask = [make](session::Session& session, EpochDone done) {
    make->Try(session, std::move(done));
  };
  return queue::call::AskUntilAnswered<std::int64_t>(core, "make the epoch's record", wait, ask);
}

absl::StatusOr<FencingPass> ParseSeen(const std::string& text) {
  const std::size_t at = text.find('@');
  const auto token = FencingToken::Parse(text.substr(0, at));
  std::int64_t epoch = 0;
  const std::string epoch_text = at == std::string::npos ? "0" : text.substr(at + 1);
  const bool number = absl::SimpleAtoi(epoch_text, &epoch) && std::to_string(epoch) == epoch_text;
  if (token.ok() && number && epoch >= 0) return FencingPass{.token = *token, .epoch = epoch};
  return absl::InvalidArgumentError(
      absl::StrCat("--seen \"", absl::Utf8SafeCEscape(text), "\": not a token, or TOKEN@EPOCH"));
}

}  // namespace zkrecipes::zkr::commands
