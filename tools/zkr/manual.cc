// SPDX-License-Identifier: Apache-2.0

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include "tools/zkr/flags.h"
#include "tools/zkr/help.h"

namespace zkrecipes::zkr {
namespace {

// A leading dot or quote would be a request of roff.
std::string Roff(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"\\", "\\e"}, {"-", "\\-"}, {"\n.", "\n\\&."}, {"\n'", "\n\\&'"}});
}

std::string ManualOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return absl::StrCat(".TP\n\\fB", Roff(option.get_name(false, true)), "\\fR",
                      type.empty() ? "" : " \\fI" + Roff(type) + "\\fR", "\n",
                      Roff(option.get_description()), "\n");
}

std::string Tagged(const std::string& tag, const std::string& text) {
  return absl::StrCat(".TP\n\\fB", Roff(tag), "\\fR\n", Roff(text), "\n");
}

// A help text, filled again for the page's width. Its tables have lines of "  tag  text".
std::string HelpOf(const std::string& help) {
  std::string text;
  bool table = false;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(help, '\n'))) {
    const std::string words(absl::StripAsciiWhitespace(line));
    const std::size_t tag_end = words.find("  ");
    const bool begins = absl::StartsWith(line, "  ") && tag_end != std::string::npos;
    const bool goes_on = table && absl::StartsWith(line, "  ") && !begins;
    if (!begins && !goes_on && (table || words.empty())) text += ".PP\n";
    table = begins || goes_on;
    if (begins) {
      text += Tagged(words.substr(0, tag_end), words.substr(words.find_first_not_of(' ', tag_end)));
    } else if (!words.empty()) {
      text += Roff(words) + "\n";
    }
  }
  return text;
}

// Those of CMD, and those that stand for an option.
std::string EnvironmentOf(const CLI::App& zkr) {
  std::string text = HelpOf(kEnvironment);
  for (const CLI::Option* option : zkr.get_options()) {
    if (option->get_envname().empty()) continue;
    text += Tagged(option->get_envname(), "The default of " + option->get_name(false, true));
  }
  return text;
}

std::string OptionsOf(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) text += ManualOf(*option);
  return text;
}

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// The values of one that names them: "auto|cgroup|process".
std::vector<std::string> ValuesOf(const CLI::Option& option) {
  const std::vector<std::string> values = absl::StrSplit(option.get_type_name(), '|');
  return values.size() < 2 ? std::vector<std::string>() : values;
}

// Of files the shell's own completion is better, which follows where there is no word: complete -o.
constexpr char kFiles[] = "COMPREPLY=(); return";

// The words that may follow in a command: its options, and the values of its argument.
std::vector<std::string> WordsOf(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::Option* option : app.get_options()) {
    // Positional arguments have no names: they give their values only.
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    for (const std::string& name : option->get_snames()) words.push_back("-" + name);
    if (!option->get_positional()) continue;
    for (const std::string& value : ValuesOf(*option)) words.push_back(value);
  }
  return words;
}

// The values of each option that names them, or files, as cases of a shell's `case "$prev"`.
std::string CasesOf(const CLI::App& app) {
  std::string cases;
  for (const CLI::Option* option : app.get_options()) {
    const bool file = option->get_type_name() == "FILE";
    if (option->get_positional() || (ValuesOf(*option).empty() && !file)) continue;
    absl::StrAppend(
        &cases, "    ", option->get_name(), ") ",
        file ? std::string(kFiles) : "words=\"" + absl::StrJoin(ValuesOf(*option), " ") + "\"",
        " ;;\n");
  }
  for (const CLI::App* command : CommandsOf(app)) cases += CasesOf(*command);
  return cases;
}

std::string NamesOf(const CLI::App& app) {
  return absl::StrJoin(CommandsOf(app), " ", [](std::string* out, const CLI::App* command) {
    absl::StrAppend(out, command->get_name());
  });
}

}  // namespace

std::string ManualPage(const CLI::App& zkr, const std::string& version) {
  std::string text = absl::StrCat(
      ".TH ZKR 1 \"\" \"zkr ", version, "\"\n.SH NAME\nzkr \\- ", Roff(zkr.get_description()),
      "\n.SH SYNOPSIS\n\\fBzkr\\fR [OPTIONS] COMMAND ...\n.SH OPTIONS\n", OptionsOf(zkr),
      ".SH COMMANDS\n");
  for (const CLI::App* command : CommandsOf(zkr)) {
    absl::StrAppend(&text, ".SS \"zkr ", Roff(command->get_name()), "\"\n",
                    Roff(command->get_description()), ".\n", OptionsOf(*command));
    for (const CLI::App* sub : CommandsOf(*command)) {
      text += Tagged(sub->get_name(), sub->get_description());
    }
    if (!command->get_footer().empty()) text += HelpOf(command->get_footer());
  }
  return absl::StrCat(text, ".SH \"EXIT STATUS\"\n", HelpOf(kExitStatus), ".SH ENVIRONMENT\n",
                      EnvironmentOf(zkr), ".SH EXAMPLES\n", HelpOf(kExamples));
}

std::string BashCompletion(const CLI::App& zkr) {
  std::string commands;
  for (const CLI::App* command : CommandsOf(zkr)) {
    absl::StrAppend(&commands, "    ", command->get_name(), ") words=\"$words ",
                    absl::StrJoin(WordsOf(*command), " "), " ", NamesOf(*command), "\" ;;\n");
  }
  return absl::StrCat(R"(_zkr() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} word command= words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word == -- && $prev == -- ]]; then COMPREPLY=($(compgen -c -- "$cur")); return; fi
    if [[ $word == -- ]]; then )",
                      kFiles, R"(; fi
    if [[ -z $command && " )",
                      NamesOf(zkr), R"( " == *" $word "* ]]; then command=$word; fi
  done
  case $prev in
)",
                      CasesOf(zkr), R"(    *) words=")", absl::StrJoin(WordsOf(zkr), " "), R"("
    [[ -z $command ]] && words="$words )",
                      NamesOf(zkr), R"("
    case $command in
)",
                      commands, R"(    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _zkr zkr
)");
}

// By the same function: zsh runs bash's completions. An autoloaded file is run as the first
// completion, which the last line answers.
std::string ZshCompletion(const CLI::App& zkr) {
  return "#compdef zkr\nautoload -U +X bashcompinit && bashcompinit\n" + BashCompletion(zkr) +
         "[[ -n $compstate ]] && _bash_complete -o default -F _zkr\n:\n";
}

}  // namespace zkrecipes::zkr
