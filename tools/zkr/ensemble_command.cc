// SPDX-License-Identifier: Apache-2.0
//
// A local ensemble that outlives its command: `start` leaves behind a keeper process (this program,
// in a session of its own) that owns the servers and ends them when it is told to.
//
//   DIR/keeper   "PID START-TIME SERVERS", written once all serve; START-TIME tells a reused pid

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "tools/zkr/commands.h"
#include "tools/zkr/exit_code.h"
#include "testing/four_letter_word.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkr {
namespace {

using zkrecipes::testing::LocalEnsemble;

struct EnsembleFlags {
  int servers = 3;
  std::string directory;
};

struct Keeper {
  pid_t pid = 0;
  std::string start_time;
  std::string servers;
};

std::string DefaultDirectory() { return absl::StrCat("/tmp/zkr-ensemble-", getuid()); }

// Field 22 of /proc/PID/stat; empty if there is no such process.
std::string StartTime(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string stat((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return "";
  const std::vector<std::string> fields = absl::StrSplit(stat.substr(name_end + 1), ' ', absl::SkipEmpty());
  return fields.size() > 19 && fields[0] != "Z" ? fields[19] : "";
}

// The keeper that runs now.
std::optional<Keeper> FindKeeper(const std::string& directory) {
  std::ifstream file(directory + "/keeper");
  Keeper keeper;
  if (!(file >> keeper.pid >> keeper.start_time >> keeper.servers)) return std::nullopt;
  if (StartTime(keeper.pid) != keeper.start_time) return std::nullopt;
  return keeper;
}

// The keeper's life: start, say where, wait for SIGTERM, end the servers.
[[noreturn]] void Keep(const EnsembleFlags& flags, int report) {
  setsid();
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  sigaddset(&end, SIGINT);
  sigprocmask(SIG_BLOCK, &end, nullptr);
  signal(SIGHUP, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  std::string answer;
  auto ensemble = LocalEnsemble::Start({.servers = flags.servers,
                                        .directory = flags.directory + "/servers",
                                        .max_lifetime = absl::InfiniteDuration()});
  if (ensemble.ok()) {
    std::ofstream(flags.directory + "/keeper")
        << getpid() << " " << StartTime(getpid()) << " " << (*ensemble)->servers() << "\n";
  } else {
    answer = std::string(ensemble.status().message());
  }
  answer.push_back('\n');
  (void)!write(report, answer.data(), answer.size());
  close(report);
  if (!ensemble.ok()) _exit(1);
  for (const int stream : {0, 1, 2}) {
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, stream);
    close(null);
  }
  int signal_number = 0;
  sigwait(&end, &signal_number);
  ensemble->reset();
  std::error_code ignored;
  std::filesystem::remove(flags.directory + "/keeper", ignored);
  std::filesystem::remove_all(flags.directory + "/servers", ignored);
  std::filesystem::remove(flags.directory, ignored);  // only if nothing else is in it
  _exit(0);
}

// Forks the keeper; its complaint, or "" when all servers serve.
std::string StartKeeper(const EnsembleFlags& flags) {
  std::error_code error;
  std::filesystem::create_directories(flags.directory, error);
  if (error) return absl::StrCat("cannot make ", flags.directory, ": ", error.message());
  std::filesystem::remove_all(flags.directory + "/servers", error);
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return strerror(errno);
  const pid_t pid = fork();
  if (pid < 0) return strerror(errno);
  if (pid == 0) {
    close(report[0]);
    Keep(flags, report[1]);
  }
  close(report[1]);
  std::string answer;
  char buffer[4096];
  for (ssize_t n; (n = read(report[0], buffer, sizeof(buffer))) > 0;) answer.append(buffer, n);
  close(report[0]);
  if (answer.empty()) return "the keeper process died";
  answer.pop_back();
  return answer;
}

void PrintServers(const Keeper& keeper, bool json) {
  if (json) {
    std::puts(nlohmann::ordered_json({{"servers", keeper.servers}, {"pid", keeper.pid}}).dump().c_str());
  } else {
    std::puts(keeper.servers.c_str());
  }
}

int Start(const GlobalFlags& global, const EnsembleFlags& flags) {
  if (const auto running = FindKeeper(flags.directory)) {
    Complain(absl::StrCat("an ensemble runs in ", flags.directory, " already"));
    PrintServers(*running, global.json);
    return kDone;
  }
  Complain(absl::StrCat("starting ", flags.servers, " ZooKeeper server(s) in ", flags.directory));
  const std::string complaint = StartKeeper(flags);
  const auto keeper = FindKeeper(flags.directory);
  if (!complaint.empty() || !keeper) {
    Complain(complaint);
    return kUnavailable;
  }
  PrintServers(*keeper, global.json);
  return kDone;
}

int Stop(const EnsembleFlags& flags) {
  const auto keeper = FindKeeper(flags.directory);
  if (!keeper) {
    Complain(absl::StrCat("no ensemble runs in ", flags.directory));
    return kDone;
  }
  kill(keeper->pid, SIGTERM);
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (StartTime(keeper->pid) == keeper->start_time) {
    if (absl::Now() > deadline) {
      Complain("the ensemble does not end");
      return kInternal;
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
  return kDone;
}

// The mode that a server says it is in.
std::string Mode(const std::string& server) {
  const auto answer = zkrecipes::testing::FourLetterWord(server, "srvr", absl::Seconds(1));
  if (!answer.ok()) return "down";
  const std::vector<std::string> lines = absl::StrSplit(*answer, '\n');
  for (const std::string& line : lines) {
    if (line.rfind("Mode: ", 0) == 0) return line.substr(6);
  }
  return "not serving";
}

int ShowStatus(const GlobalFlags& global, const EnsembleFlags& flags) {
  const auto keeper = FindKeeper(flags.directory);
  nlohmann::ordered_json members = nlohmann::ordered_json::array();
  if (keeper) {
    const std::vector<std::string> servers = absl::StrSplit(keeper->servers, ',');
    for (const std::string& server : servers) {
      members.push_back({{"server", server}, {"mode", Mode(server)}});
    }
  }
  if (global.json) {
    const nlohmann::ordered_json all = {{"directory", flags.directory}, {"members", members}};
    std::puts(all.dump().c_str());
  } else {
    for (const auto& member : members) {
      std::printf("%-22s %s\n", member["server"].get<std::string>().c_str(),
                  member["mode"].get<std::string>().c_str());
    }
  }
  if (!keeper) Complain(absl::StrCat("no ensemble runs in ", flags.directory));
  return keeper ? kDone : kNo;
}

}  // namespace

void RegisterEnsembleCommand(CLI::App& app, const GlobalFlags& flags, int& exit_code) {
  CLI::App* ensemble = app.add_subcommand("ensemble", "A local ensemble, to try things out");
  ensemble->set_version_flag("--version", app.version());
  ensemble->require_subcommand(1);
  ensemble->fallthrough();
  auto own = std::make_shared<EnsembleFlags>();
  own->directory = DefaultDirectory();
  const auto add = [&](const char* name, const char* help) {
    CLI::App* command = ensemble->add_subcommand(name, help);
    command->set_version_flag("--version", app.version());
    command->add_option("--dir", own->directory, absl::StrCat("where (", DefaultDirectory(), ")"));
    return command;
  };
  CLI::App* start = add("start", "Start it and print its servers");
  start->add_option("--servers", own->servers, "how many (3)")->check(CLI::Range(1, 9));
  start->callback([&flags, &exit_code, own] { exit_code = Start(flags, *own); });
  add("stop", "End it and remove what it wrote")->callback([&exit_code, own] {
    exit_code = Stop(*own);
  });
  add("status", "Show each server's mode")->callback([&flags, &exit_code, own] {
    exit_code = ShowStatus(flags, *own);
  });
}

}  // namespace zkr
