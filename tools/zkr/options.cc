// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/options.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace zkrecipes::zkr {

void RefuseUsage(const std::string& name, const std::string& message) {
  throw CLI::ValidationError(name, message);
}

std::string PlainHelp::make_option_opts(const CLI::Option* option) const {
  const std::string type = option->get_type_name();
  return type.empty() ? "" : " " + type;
}

std::string CommandHelp::make_usage(const CLI::App* app, std::string /*name*/) const {
  return absl::StrCat("Usage: ", UsageOf(*app), "\n");
}

std::string UsageOf(const CLI::App& command) {
  return absl::StrCat("zkr ", command.get_name(), " [OPTIONS] PATH -- CMD [ARG...]");
}

CLI::Option* AddDuration(CLI::App& app, const std::string& name, absl::Duration& value,
                         const std::string& help) {
  const auto parse = [name, &value](const CLI::results_t& texts) {
    const std::string quoted = absl::StrCat("\"", texts.back(), "\"");
    if (!absl::ParseDuration(texts.back(), &value)) {
      RefuseUsage(name, quoted + " is not a duration: write a number and a unit, such as 500ms");
    }
    if (value < absl::ZeroDuration()) RefuseUsage(name, quoted + " is negative");
    return true;
  };
  return app.add_option(name, parse, help)->type_name("DURATION")->expected(1);
}

CLI::Option* AddSeconds(CLI::App& app, const std::string& name, absl::Duration& value,
                        const std::string& help) {
  const auto parse = [name, &value](const CLI::results_t& texts) {
    double seconds = 0;
    if (!absl::SimpleAtod(texts.back(), &seconds) || !(seconds >= 0)) {
      RefuseUsage(name, absl::StrCat("\"", texts.back(), "\" is not a number of seconds"));
    }
    value = absl::Seconds(seconds);
    return true;
  };
  return app.add_option(name, parse, help)->type_name("SECONDS")->expected(1);
}

void AddNumber(CLI::App& app, const std::string& name, int& value, int max,
               const std::string& help) {
  app.add_option(name, value, help)->type_name("N")->check([max](const std::string& text) {
    int number = 0;
    const bool in_range = absl::SimpleAtoi(text, &number) && number >= 0 && number <= max;
    return in_range ? "" : absl::StrCat("\"", text, "\" is not a number from 0 to ", max);
  });
}

void AddPath(CLI::App& command, std::string& path, const std::string& help) {
  command.add_option("PATH", path, help)->required()->type_name("");
}

}  // namespace zkrecipes::zkr
