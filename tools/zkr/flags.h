// SPDX-License-Identifier: Apache-2.0
//
// Options of a command line in zkr's own manner, on CLI11: how they are read, refused and shown;
// and those that several commands share.

#ifndef ZKRECIPES_TOOLS_ZKR_FLAGS_H_
#define ZKRECIPES_TOOLS_ZKR_FLAGS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"

#include "tools/zkr/commands/commands.h"

namespace zkrecipes::zkr {

// Throws the usage error "NAME: MESSAGE".
[[noreturn]] void RefuseUsage(const std::string& name, const std::string& message);

// How --help shows options: name, type and purpose, and none of CLI11's own notes; and CMD, of
// which CLI11 does not know, behind those of a command that runs one.
class PlainHelp : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_footer(const CLI::App* app) const override;
};

// Shows where the command line ends and CMD begins, which CLI11 cannot.
std::string UsageOf(const CLI::App& command);

// An option in the style of Go and Abseil ("500ms", "10s", "1m30s"), not negative.
CLI::Option* AddDuration(CLI::App& app, const std::string& name, absl::Duration& value,
                         const std::string& help);

// Seconds as flock(1) takes them: a number, fractions too.
CLI::Option* AddSeconds(CLI::App& app, const std::string& name, absl::Duration& value,
                        const std::string& help);

// A decimal number, for ->transform: CLI11 reads 010 as eight, 0x10 as sixteen, and cuts what is
// too long. Unlike with CLI::Range, --help does not show the range. `wanted`: what another is not.
CLI::Validator Decimal(std::int64_t least = INT64_MIN, std::int64_t most = INT64_MAX,
                       const std::string& wanted = "");
template <typename Number>  // int, or std::optional<int>
CLI::Option* AddNumber(CLI::App& app, const std::string& name, Number& value, int least, int most,
                       const std::string& help) {
  return app.add_option(name, value, help)
      ->type_name("N")
      ->transform(Decimal(least, most, absl::StrCat("a number from ", least, " to ", most)));
}

// One of a few words, each of which stands for a value. --help shows them all.
template <typename T>
CLI::Option* AddChoice(CLI::App& app, const std::string& name, T& value,
                       const std::vector<std::pair<std::string, T>>& words,
                       const std::string& help) {
  const auto take = [&value, words](const std::string& word) {
    value = std::ranges::find(words, word, &std::pair<std::string, T>::first)->second;
  };
  const auto append = [](std::string* all, const auto& word) { all->append(word.first); };
  return app.add_option_function<std::string>(name, take, help)
      ->check(CLI::IsMember(words).description(""))
      ->type_name(absl::StrJoin(words, "|", append));
}

CLI::Option* AddPath(CLI::App& command, std::string& path, const std::string& help);

void AddGlobalFlags(CLI::App& app, commands::GlobalFlags& flags);

// Adds the options of a command that runs CMD.
void AddCommandFlags(CLI::App& command, commands::CommandFlags& flags,
                     const std::string& path_help);

// Checks that need the whole command line. `cmd`: the words after the first "--", if there is one.
void FinishCommand(const CLI::App& command, const std::optional<std::vector<std::string>>& cmd,
                   commands::CommandFlags& flags);
void FinishStatusFd(const commands::CommandFlags& flags);

// The manual page zkr(1), for man. This and the completions are made from the commands and options
// that --help shows, so that they cannot differ from it: manual.cc.
std::string ManualPage(const CLI::App& zkr, const std::string& version);

// To be sourced by an interactive shell. Both complete commands, options and the values of those
// options that name theirs ("auto|cgroup|process"), and after -- a command of the machine.
std::string BashCompletion(const CLI::App& zkr);
std::string ZshCompletion(const CLI::App& zkr);

}  // namespace zkrecipes::zkr

#endif  // ZKRECIPES_TOOLS_ZKR_FLAGS_H_
