// SPDX-License-Identifier: Apache-2.0

#include "verification/partitions/rolling.h"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <ranges>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "lib/base/boot_time.h"
#include "testing/local/work_directory.h"
#include "verification/partitions/service.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::verification {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(2);

int64_t Stamp() { return absl::ToInt64Nanoseconds(base::BootNow().since_boot()); }
double Seconds(int64_t from, int64_t to) { return static_cast<double>(to - from) / 1e9; }

// What the members of all processes have told.
class Ledger {
 public:
  explicit Ledger(std::vector<std::string> logs) : logs_(std::move(logs)), read_(logs_.size()) {}

  void Read() {
    for (size_t i = 0; i < logs_.size(); ++i) {
      std::ifstream log(logs_[i]);
      log.seekg(read_[i]);
      for (std::string line; std::getline(log, line) && !log.eof();) {
        read_[i] += static_cast<std::streamoff>(line.size() + 1);
        Note(line);
      }
    }
  }
  // Each of `members` has as many, and all are owned.
  bool Balanced(int partitions, int members) const {
    int owned = 0;
    for (const auto& [name, owners] : owners_) owned += owners == 1;
    const auto fair = [&](const auto& m) { return m.second == partitions / members; };
    return owned == partitions && std::ranges::count_if(shares_, fair) == members;
  }
  bool HasLeft(const std::string& member, int64_t since) const {
    const auto left = left_.find(member);
    return left != left_.end() && left->second > since;
  }
  int64_t last_begin() const {
    return std::ranges::max(begins_ | std::views::transform([](const Begin& b) { return b.at; }));
  }
  size_t begins() const { return begins_.size(); }
  // How many names have had another owner so often since then.
  std::map<int, int> Moves(int64_t since) {
    std::ranges::sort(begins_, {}, &Begin::at);
    std::map<std::string, std::pair<std::string, int>> names;
    for (const Begin& begin : begins_) {
      auto& [owner, moves] = names[begin.name];
      if (begin.at > since && owner != begin.member) ++moves;
      owner = begin.member;
    }
    std::map<int, int> counts;
    for (const auto& [name, of] : names) ++counts[of.second];
    return counts;
  }

 private:
  struct Begin {
    int64_t at;
    std::string name, member;
  };

  void Note(const std::string& line) {
    std::istringstream words(line);
    std::string what, name, member;
    int64_t at = 0;
    if (!(words >> what >> at >> name >> member)) return;  // an error, in words
    if (what == "left") left_[member] = at;
    const int change = what == "own" ? 1 : what == "gave" ? -1 : 0;
    if (change == 0) return;
    owners_[name] += change;
    shares_[member] += change;
    if (change > 0) begins_.push_back({at, name, member});
  }

  const std::vector<std::string> logs_;
  std::vector<std::streamoff> read_;
  std::map<std::string, int> owners_;  // of each name how many
  std::map<std::string, int> shares_;  // of each member
  std::map<std::string, int64_t> left_;
  std::vector<Begin> begins_;
};

class Rolling {
 public:
  Rolling(const Fleet& fleet, const std::string& servers, const std::string& logs)
      : fleet_(fleet),
        service_(fleet.program.empty() ? std::vector<std::string>{"/proc/self/exe", "members"}
                                       : fleet.program,
                 {servers, absl::StrCat(fleet.session_timeout), absl::StrCat(fleet.each),
                  absl::StrCat(fleet.partitions)},
                 logs),
        ledger_(Logs()) {}
  ~Rolling() { service_.StopAll(); }

  absl::Status Start() {
    const int64_t begun = Stamp();
    for (int p = 0; p < fleet_.processes; ++p) {
      if (absl::Status status = service_.Start(Process(p)); !status.ok()) return status;
    }
    if (absl::Status status = Settle(); !status.ok()) return status;
    printf(
        "%d partitions on %d members in %d processes: balanced %.1f s after a cold start; work "
        "was begun %zu times\n",
        fleet_.partitions, members(), fleet_.processes, Seconds(begun, ledger_.last_begin()),
        ledger_.begins());
    return absl::OkStatus();
  }
  absl::StatusOr<bool> RestartMembers() {
    return Restart("member by member", members(), [this](int i) -> absl::Status {
      const int64_t now = Stamp();
      const pid_t pid = service_.Of(Process(i / fleet_.each)).pid();
      if (pid == 0) return absl::InternalError("a process has ended by itself");
      kill(pid, SIGUSR1);
      const std::string member = absl::StrCat(Process(i / fleet_.each), "-", i % fleet_.each);
      return Until([&] { return ledger_.HasLeft(member, now); });
    });
  }
  absl::StatusOr<bool> RestartProcesses() {
    return Restart("process by process", fleet_.restarts,
                   [this](int i) { return service_.Start(Process(i % fleet_.processes)); });
  }

 private:
  static std::string Process(int p) { return absl::StrCat("p", p); }
  std::vector<std::string> Logs() const {
    std::vector<std::string> logs;
    for (int p = 0; p < fleet_.processes; ++p) logs.push_back(service_.LogOf(Process(p)));
    return logs;
  }
  int members() const { return fleet_.processes * fleet_.each; }

  template <typename Condition>
  absl::Status Until(Condition condition) {
    for (const absl::Time end = absl::Now() + kPatience; absl::Now() < end;) {
      ledger_.Read();
      if (condition()) return absl::OkStatus();
      absl::SleepFor(absl::Milliseconds(20));
    }
    return absl::DeadlineExceededError("the members have not found their shares");
  }
  absl::Status Settle() {
    return Until([&] { return ledger_.Balanced(fleet_.partitions, members()); });
  }
  template <typename One>
  absl::StatusOr<bool> Restart(const char* how, int count, One restart_one) {
    const int64_t begun = Stamp();
    const size_t begins = ledger_.begins();
    for (int i = 0; i < count; ++i) {
      absl::Status status = restart_one(i);
      if (status.ok()) status = Settle();
      if (!status.ok()) return status;
    }
    printf("%d restarted %s within %.0f s: work was begun %zu times", count, how,
           Seconds(begun, Stamp()), ledger_.begins() - begins);
    bool twice = true;
    for (const auto& [moves, names] : ledger_.Moves(begun)) {
      printf("; %d partitions moved %d times", names, moves);
      twice = twice && moves <= 2;
    }
    printf("\n");
    fflush(stdout);
    return twice;
  }

  const Fleet fleet_;
  Service service_;
  Ledger ledger_;
};

}  // namespace

absl::StatusOr<bool> Roll(const Fleet& fleet) {
  auto logs = testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  if (!logs.ok()) return logs.status();
  auto servers = testing::LocalEnsemble::Start();
  if (!servers.ok()) return servers.status();
  Rolling rolling(fleet, (*servers)->servers(), logs->path());
  if (absl::Status status = rolling.Start(); !status.ok()) return status;
  absl::StatusOr<bool> twice = true;
  if (fleet.member_by_member) twice = rolling.RestartMembers();
  if (!twice.ok()) return twice;
  if (const auto done = rolling.RestartProcesses(); !done.ok()) return done.status();
  return twice;
}

}  // namespace zkrecipes::verification
