// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <limits>
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

using session::kEpochPath;
using EpochAnswer = absl::StatusOr<std::int64_t>;
using EpochDone = absl::AnyInvocable<void(EpochAnswer) &&>;

// One raise, however often it is tried. On the reactor.
class Raise : public std::enable_shared_from_this<Raise> {
 public:
  Raise(std::int64_t above, bool has_users) : above_(above), has_users_(has_users) {}

  void Try(session::Session& session, EpochDone done) {
    session.Send(zk::Get{kEpochPath}, [self = shared_from_this(), &session,
                                       done = std::move(done)](const zk::Reply& reply) mutable {
      self->OnRecord(session, reply, std::move(done));
    });
  }

 private:
  void OnRecord(session::Session& session, const zk::Reply& reply, EpochDone done) {
    // A record that is no number is never overwritten: an operator has to say what it should be.
    const EpochAnswer now = session::EpochIn(reply);
    if (!now.ok()) return std::move(done)(now);
    const std::int64_t least = std::max(*now, above_);
    if (!target_ && least == std::numeric_limits<std::int64_t>::max()) {
      return std::move(done)(absl::InvalidArgumentError(
          absl::StrCat("raise the epoch above ", least, ": there is no higher number")));
    }
    // Fixed at the first read. A try again after a lost answer finds its own write and raises no
    // further.
    if (!target_) target_ = least + 1;
    // Written by this raise, whose answer was lost, or by another since it began.
    if (*now >= *target_) return std::move(done)(now);
    // The version that was read goes with the write: a raise that came between makes it fail, not
    // go down.
    if (reply.code == zk::Code::kNoNode) return Create(session, std::move(done));
    Write(session, zk::SetData{kEpochPath, absl::StrCat(*target_), reply.stat.version},
          std::move(done));
  }

  // Both at once: they are carried out in order.
  void Create(session::Session& session, EpochDone done) {
    const auto persistent = zk::CreateMode::kPersistent;
    // Its answer does not matter: if the parent is missing after this, the second create says so.
    session.Send(zk::Create{session::kEpochParent, "", persistent, Acl()}, [](const zk::Reply&) {});
    Write(session, zk::Create{kEpochPath, absl::StrCat(*target_), persistent, Acl()},
          std::move(done));
  }

  // Another came first: `Try` reads what it has written.
  void Write(session::Session& session, const zk::Request& request, EpochDone done) {
    session.Send(request, [self = shared_from_this(), &session, request,
                           done = std::move(done)](const zk::Reply& reply) mutable {
      const bool again = reply.code == zk::Code::kBadVersion || reply.code == zk::Code::kNodeExists;
      if (again) return self->Try(session, std::move(done));
      if (reply.code == zk::Code::kOk) return std::move(done)(*self->target_);
      std::move(done)(zk::ToStatus(
          reply.code, absl::StrCat("raise the epoch: ", zk::OperationName(request)), kEpochPath));
    });
  }

  std::vector<zk::AclEntry> Acl() const {
    constexpr std::int32_t kRead = 1, kAll = 31;
    // With users everybody may read and only they may write: a stranger must not raise, or remove,
    // the epoch.
    if (!has_users_) return {{kAll, "world", "anyone"}};
    return {{kAll, "auth", ""}, {kRead, "world", "anyone"}};
  }

  const std::int64_t above_;
  const bool has_users_;
  std::optional<std::int64_t> target_;  // once it has been read
};

}  // namespace

absl::StatusOr<std::int64_t> AskEpoch(Client& client, const WaitOptions& wait) {
  const auto reply = AskServer(client, zk::Get{kEpochPath}, wait);
  return reply.ok() ? session::EpochIn(*reply) : reply.status();
}

absl::StatusOr<std::int64_t> RaiseEpoch(Client& client, std::int64_t above,
                                        const WaitOptions& wait) {
  internal::ClientCore& core = *internal::ClientAccess::Core(client);
  const auto raise = std::make_shared<Raise>(above, core.has_users());
  const auto ask = [raise](session::Session& session, EpochDone done) {
    raise->Try(session, std::move(done));
  };
  return queue::call::AskUntilAnswered<std::int64_t>(core, "raise the epoch", wait, ask);
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
