// SPDX-License-Identifier: Apache-2.0

#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include <gtest/gtest.h>

#include "integration/fixtures/ensemble_fixture.h"
#include "integration/resources/kinds.h"
#include "lib/base/unique_fd.h"
#include "testing/local/server_process.h"

namespace resources {
namespace {

using zkrecipes::base::UniqueFd;
using zkrecipes::testing::Guard;
using zkrecipes::testing::ServerProcess;

// Processes contend for one lock, and the holder writes to a store of each kind. Again and again
// the holder is stopped (SIGSTOP) at a random moment and for so long that its session ends; once
// another one holds the lock and has written to every store, it goes on, and writes on with its old
// pass.
struct StaleWritersOptions {
  std::string servers = {};  // ZooKeeper's
  std::string path = {};     // the lock's
  bool checked = true;       // the stores check the passes
  int stops = 1;             // how often a holder is stopped
  int writes = 50;           // to each store, each time, by the one that was stopped
  int writers = 3;
  uint64_t seed = 1;
};

// How a store met stale writes.
struct StaleWrites {
  int64_t refused = 0;
  int64_t admitted = 0;
  // How often an older holder's value was read where a newer one's had been.
  int64_t older_seen = 0;
};

constexpr absl::Duration kPatience = absl::Minutes(2);
// In which a session ends and the next holder writes everywhere, unless a store makes it wait.
constexpr absl::Duration kStuck = absl::Seconds(6);
constexpr char kRegisterInZooKeeper[] = "stale-writers-register";
constexpr int kLongestWait = 400;  // milliseconds, before a holder is stopped

int64_t NumberIn(const std::string& text) {
  int64_t number = 0;
  (void)absl::SimpleAtoi(text.substr(0, text.find(':')), &number);
  return number;
}

struct Store {
  Kind kind;
  std::unique_ptr<Server> server = nullptr;
  std::string address = "";
  std::unique_ptr<Register> reader = nullptr;
  int64_t newest = 0;  // the highest token read so far
  StaleWrites writes = {};
};

struct Process {
  ServerProcess process;
  UniqueFd line;
  int64_t wrote = 0;  // its token, once it has written to every store; 0 when it has lost the lock
  bool done = false;

  void Order(const std::string& order) {
    (void)send(line.get(), order.data(), order.size(), MSG_NOSIGNAL);
  }
};

class Contention {
 public:
  explicit Contention(const StaleWritersOptions& options)
      : options_(options), random_(options.seed) {}

  absl::Status Start() {
    (void)signal(SIGPIPE, SIG_IGN);
    for (const Kind& kind : Kinds()) {
      auto server = kind.start();
      if (!server.ok()) return server.status();
      const std::string address = (*server)->address();
      absl::Status status = AddStore({.kind = kind, .server = *std::move(server)}, address);
      if (!status.ok()) return status;
    }
    absl::Status status =
        AddStore({.kind = ZooKeeper()}, options_.servers + "/" + kRegisterInZooKeeper);
    if (!status.ok()) return status;
    auto guard = Guard::Start(absl::Hours(1), "");
    if (!guard.ok()) return guard.status();
    guard_ = *std::move(guard);
    for (int i = 0; i < options_.writers; ++i) {
      status.Update(StartWriter());
    }
    return status;
  }

  // Stops a holder once, and lets it write on.
  absl::Status Round() {
    const auto holds = [this] { return Holder() != nullptr; };
    if (absl::Status status = Await(holds, "a holder"); !status.ok()) return status;
    const absl::Time until =
        absl::Now() + absl::Milliseconds(std::uniform_int_distribution(0, kLongestWait)(random_));
    if (absl::Status status = Await([&] { return absl::Now() >= until; }, ""); !status.ok()) {
      return status;
    }
    Process* const stopped = Holder();
    if (stopped == nullptr) return Round();
    const int64_t its_token = stopped->wrote;
    stopped_ = stopped;
    stopped->process.Pause();
    const auto succeeded = [&] {
      const Process* const holder = Holder();
      return holder != nullptr && holder != stopped && holder->wrote > its_token;
    };
    // A file's lock may be its, and then the next holder waits: it must finish that write.
    if (!Await(succeeded, "", kStuck).ok()) stopped->process.Resume();
    if (absl::Status status = Await(succeeded, "a successor"); !status.ok()) return status;
    stopped->done = false;
    stopped->Order(absl::StrCat("stale ", options_.writes));
    if (stopped->process.paused()) stopped->process.Resume();
    return Await([&] { return stopped->done; }, "the stopped one");
  }

  std::map<std::string, StaleWrites> Counts() const {
    std::map<std::string, StaleWrites> counts;
    for (const Store& store : stores_) counts[store.kind.name] = store.writes;
    return counts;
  }

 private:
  absl::Status AddStore(Store store, const std::string& address) {
    auto reader = store.kind.connect(address);
    if (!reader.ok()) return reader.status();
    store.address = address;
    store.reader = *std::move(reader);
    stores_.push_back(std::move(store));
    return absl::OkStatus();
  }

  absl::Status StartWriter() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      return absl::InternalError("no socket pair");
    }
    auto process = std::make_unique<Process>();
    process->line = UniqueFd(ends[0]);
    const UniqueFd its_end(ends[1]);
    std::vector<std::string> command = {ZKRECIPES_BIN_DIR "/zkrecipes-store-writer",
                                        options_.servers, options_.path,
                                        options_.checked ? "checked" : "unchecked"};
    for (const Store& store : stores_) {
      command.push_back(absl::StrCat(store.kind.name, "=", store.address));
    }
    const absl::StatusOr<pid_t> child = zkrecipes::testing::Spawn(
        {.command = command, .stdin_fd = its_end.get(), .group = guard_->group()});
    if (!child.ok()) return child.status();
    process->process.Adopt(*child);
    writers_.push_back(std::move(process));
    return absl::OkStatus();
  }

  // The one with the newest token, if it has written to every store and was not stopped.
  Process* Holder() {
    Process* newest = nullptr;
    for (const auto& writer : writers_) {
      if (writer->wrote > (newest == nullptr ? 0 : newest->wrote)) newest = writer.get();
    }
    return newest != nullptr && !newest->process.paused() ? newest : nullptr;
  }

  // Hears all writers and reads all stores meanwhile.
  absl::Status Await(const std::function<bool()>& condition, const std::string& what,
                     absl::Duration patience = kPatience) {
    const absl::Time until = absl::Now() + patience;
    while (!condition()) {
      if (absl::Now() > until) return absl::DeadlineExceededError("waited for " + what);
      for (const auto& writer : writers_) {
        if (absl::Status status = Hear(*writer); !status.ok()) return status;
      }
      for (Store& store : stores_) {
        if (absl::Status status = Look(store); !status.ok()) return status;
      }
      absl::SleepFor(absl::Milliseconds(1));
    }
    return absl::OkStatus();
  }

  absl::Status Hear(Process& writer) {
    char buffer[1000];
    for (;;) {
      const ssize_t n = recv(writer.line.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
      if (n == 0) return absl::InternalError("a writer has ended");
      if (n < 0) return absl::OkStatus();
      const std::string message(buffer, static_cast<size_t>(n));
      const std::vector<std::string> words = absl::StrSplit(message, ' ');
      if (words[0] == "problem") return absl::InternalError(message);
      if (words[0] == "wrote") writer.wrote = NumberIn(words[1]);
      if (words[0] == "lost") writer.wrote = 0;
      if (words[0] == "lost" && &writer != stopped_) writer.Order("again");
      if (words[0] == "done") {
        writer.done = true;
        stopped_ = nullptr;
      }
      for (Store& store : stores_) {
        if (words.size() < 2 || words[1] != store.kind.name) continue;
        if (words[0] == "older") ++store.writes.older_seen;
        if (words[0] != "stale") continue;
        store.writes.refused += NumberIn(words[2]);
        store.writes.admitted += NumberIn(words[3]);
        store.writes.older_seen += NumberIn(words[4]);
      }
    }
  }

  static absl::Status Look(Store& store) {
    const absl::StatusOr<std::string> value = store.reader->Read();
    if (!value.ok()) return value.status();
    const int64_t token = NumberIn(*value);
    store.writes.older_seen += token < store.newest;
    store.newest = std::max(store.newest, token);
    return absl::OkStatus();
  }

  const StaleWritersOptions options_;
  std::mt19937_64 random_;
  std::vector<Store> stores_;
  std::unique_ptr<Guard> guard_;
  std::vector<std::unique_ptr<Process>> writers_;
  Process* stopped_ = nullptr;  // until it has written on
};

using Stores = std::map<std::string, StaleWrites>;  // by the kind's name

class StaleWritersTest : public zkrecipes::integration::EnsembleTest {
 protected:
  // Runs them, and prints what came of it.
  Stores Met(StaleWritersOptions options) {
    options.servers = servers();
    options.path = node_path();
    Contention run(options);
    absl::Status status = run.Start();
    for (int i = 0; i < options.stops && status.ok(); ++i) status = run.Round();
    EXPECT_TRUE(status.ok()) << status;
    std::printf("%-20s %10s %10s %12s\n", "stale writes to", "refused", "admitted", "older seen");
    const Stores stores = run.Counts();
    for (const auto& [name, writes] : stores) {
      std::printf("%-20s %10lld %10lld %12lld\n", name.c_str(),
                  static_cast<long long>(writes.refused), static_cast<long long>(writes.admitted),
                  static_cast<long long>(writes.older_seen));
    }
    EXPECT_GT(stores.size(), Kinds().size());
    return stores;
  }
  // All of them, at least so many a store. Returns how many in all.
  static int64_t ExpectRefused(const Stores& stores, int64_t each) {
    int64_t refused = 0;
    for (const auto& [name, writes] : stores) {
      refused += writes.refused;
      EXPECT_GE(writes.refused, each) << name;
      EXPECT_EQ(writes.admitted, 0) << name;
      EXPECT_EQ(writes.older_seen, 0) << name;
    }
    return refused;
  }
};

TEST_F(StaleWritersTest, AreRefusedByEveryStore) { ExpectRefused(Met({.stops = 2}), 50); }

TEST_F(StaleWritersTest, CorruptEveryStoreThatDoesNotCheck) {
  for (const auto& [name, writes] : Met({.checked = false, .stops = 2, .seed = 2})) {
    EXPECT_EQ(writes.refused, 0) << name;
    EXPECT_GE(writes.admitted, 50) << name;
    EXPECT_GE(writes.older_seen, 1) << name;
  }
}

TEST_F(StaleWritersTest, AreRefusedTenThousandTimes) {
  constexpr int kAttempts = 10'000, kStops = 25;
  const int each = 2 * kAttempts / kStops / static_cast<int>(Kinds().size());
  EXPECT_GE(ExpectRefused(Met({.stops = kStops, .writes = each, .writers = 4, .seed = 3}), 1),
            kAttempts);
}

}  // namespace
}  // namespace resources
