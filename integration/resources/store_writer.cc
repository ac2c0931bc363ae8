// SPDX-License-Identifier: Apache-2.0
//
// A process that holds a lock and writes to guarded stores, for stale_writers_test.cc:
//
//   zkrecipes-store-writer SERVERS PATH checked|unchecked KIND=ADDRESS...
//
// Descriptor 0 is a line of messages. It says
//   holds TOKEN, wrote TOKEN (to every store, for the first time)
//   lost TOKEN    its lease is lost, and it waits for one of
//     again       to contend for the lock again
//     stale N     first to write on with the old pass, N times to every store
//   older KIND    it holds the lock, and a store shows an older holder's value
//   stale KIND REFUSED ADMITTED SHOWN   of the N writes; then: done
//   problem TEXT

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "integration/resources/kinds.h"
#include "zkrecipes/client.h"
#include "zkrecipes/lock.h"

namespace resources {
namespace {

void Say(const std::string& message) {
  if (send(0, message.data(), message.size(), MSG_NOSIGNAL) < 0) _exit(1);
}

// Waits for an order: N of "stale N", or 0. Ends with the one who gives them.
int HearOrder() {
  char message[100];
  const ssize_t n = recv(0, message, sizeof(message), 0);
  if (n <= 0) _exit(0);
  int writes = 0;
  absl::string_view text(message, static_cast<size_t>(n));
  if (absl::ConsumePrefix(&text, "stale ")) (void)absl::SimpleAtoi(text, &writes);
  return writes;
}

int64_t TokenIn(const std::string& value) {
  int64_t token = 0;
  (void)absl::SimpleAtoi(value.substr(0, value.find(':')), &token);
  return token;
}

class Store {
 public:
  Store(const Kind& kind, std::string address, bool checked)
      : kind_(kind), address_(std::move(address)), checked_(checked) {}

  const char* name() const { return kind_.name; }
  // Tries again what could not be done: a server ends the transaction of a process that stands
  // still.
  absl::Status Write(const Holder& holder, const std::string& value) {
    absl::Status status;
    for (int i = 0; i < 20; ++i) {
      status = Connected();
      if (status.ok())
        status = checked_ ? open_->Write(holder, value) : open_->WriteUnchecked(value);
      if (!absl::IsUnavailable(status) && !absl::IsAborted(status)) break;
      if (absl::IsUnavailable(status)) open_.reset();
      absl::SleepFor(absl::Milliseconds(20));
    }
    return status;
  }
  // 0 if it cannot be read.
  int64_t Token() {
    if (!Connected().ok()) return 0;
    const absl::StatusOr<std::string> value = open_->Read();
    return value.ok() ? TokenIn(*value) : 0;
  }

 private:
  absl::Status Connected() {
    if (open_ != nullptr) return absl::OkStatus();
    auto connected = kind_.connect(address_);
    if (!connected.ok()) return connected.status();
    open_ = *std::move(connected);
    return absl::OkStatus();
  }

  Kind kind_;
  std::string address_;
  bool checked_;
  std::unique_ptr<Register> open_;
};

class Writer {
 public:
  explicit Writer(std::vector<Store> stores) : stores_(std::move(stores)) {}

  // Ends the process when the lock is not to be had.
  void Run(const zkrecipes::Lock& lock) {
    for (;;) {
      const auto lease = lock.Acquire();
      if (!lease.ok()) {
        Say("problem " + lease.status().ToString().substr(0, 300));
        _exit(1);
      }
      Hold(*lease);
    }
  }

 private:
  void Hold(const zkrecipes::Lease& lease) {
    const Holder holder{.pass = lease.pass(), .lease = &lease};
    const std::string token = lease.token().ToString();
    Say("holds " + token);
    bool wrote = false;
    for (int i = 0; lease.believed(); ++i) {
      const bool all = WriteToAll(holder, absl::StrCat(token, ":", i));
      if (all && !wrote) Say("wrote " + token);
      wrote = wrote || all;
      absl::SleepFor(absl::Milliseconds(1));
    }
    Say("lost " + token);
    if (const int writes = HearOrder(); writes > 0) WriteOn(holder, writes);
  }

  bool WriteToAll(const Holder& holder, const std::string& value) {
    bool all = true;
    for (Store& store : stores_) {
      const absl::Status status = store.Write(holder, value);
      all = all && status.ok();
      if (status.ok() && store.Token() < holder.pass.token.value()) {
        Say(absl::StrCat("older ", store.name()));
      }
      if (status.ok() || absl::IsFailedPrecondition(status)) continue;
      Say(absl::StrCat("problem ", store.name(), ": ", status.ToString().substr(0, 300)));
    }
    return all;
  }

  // As one that does not know that it has lost the lock.
  void WriteOn(const Holder& holder, int writes) {
    struct Count {
      int refused = 0, admitted = 0, shown = 0;
    };
    std::vector<Count> counts(stores_.size());
    for (int i = 0; i < writes; ++i) {
      for (size_t s = 0; s < stores_.size(); ++s) {
        const absl::Status status =
            stores_[s].Write(holder, absl::StrCat(holder.pass.token.ToString(), ":stale", i));
        counts[s].refused += absl::IsFailedPrecondition(status);
        counts[s].admitted += status.ok();
        counts[s].shown += status.ok() && stores_[s].Token() == holder.pass.token.value();
        if (status.ok() || absl::IsFailedPrecondition(status)) continue;
        Say(absl::StrCat("problem ", stores_[s].name(), ": ", status.ToString().substr(0, 300)));
      }
    }
    for (size_t s = 0; s < stores_.size(); ++s) {
      Say(absl::StrCat("stale ", stores_[s].name(), " ", counts[s].refused, " ", counts[s].admitted,
                       " ", counts[s].shown));
    }
    Say("done");
  }

  std::vector<Store> stores_;
};

int Main(const std::vector<std::string>& arguments) {
  (void)signal(SIGPIPE, SIG_IGN);
  std::vector<Kind> kinds = Kinds();
  kinds.push_back(ZooKeeper());
  std::vector<Store> stores;
  for (size_t i = 4; i < arguments.size(); ++i) {
    const std::pair<std::string, std::string> named =
        absl::StrSplit(arguments[i], absl::MaxSplits('=', 1));
    for (const Kind& kind : kinds) {
      if (kind.name == named.first)
        stores.emplace_back(kind, named.second, arguments[3] == "checked");
    }
  }
  auto client = zkrecipes::Client::Connect(
      {.servers = arguments[1], .session_timeout = absl::Seconds(2)}, {absl::Seconds(30)});
  if (!client.ok()) {
    Say("problem " + client.status().ToString());
    return 1;
  }
  Writer(std::move(stores)).Run(zkrecipes::Lock(*client, arguments[2]));
  return 0;
}

}  // namespace
}  // namespace resources

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  return resources::Main({argv, argv + argc});
}
