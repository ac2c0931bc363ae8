// SPDX-License-Identifier: Apache-2.0

#include "recipes/contracts/header_contract_fixture.h"

#include <algorithm>
#include <regex>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace zkrecipes::testing {
namespace {

using Codes = std::set<absl::StatusCode>;

const char kOfAllForms[] = "Errors of all forms:";

// kDeadlineExceeded is "DeadlineExceeded" in a comment, and "DEADLINE_EXCEEDED" for absl.
std::string NameInComments(absl::StatusCode code) {
  std::string name;
  for (const absl::string_view word : absl::StrSplit(absl::StatusCodeToString(code), '_')) {
    absl::StrAppend(&name, word.substr(0, 1), absl::AsciiStrToLower(word.substr(1)));
  }
  return name;
}

std::map<std::string, absl::StatusCode> AllCodes() {
  std::map<std::string, absl::StatusCode> codes;
  for (int i = 1; i <= static_cast<int>(absl::StatusCode::kUnauthenticated); ++i) {
    codes.emplace(NameInComments(static_cast<absl::StatusCode>(i)),
                  static_cast<absl::StatusCode>(i));
  }
  return codes;
}

Codes CodesNamedIn(const std::string& comment) {
  static const auto* const kAll = new std::map(AllCodes());
  static const std::regex kWord(R"(\w+)");
  Codes codes;
  for (std::sregex_iterator it(comment.begin(), comment.end(), kWord), end; it != end; ++it) {
    if (const auto found = kAll->find(it->str()); found != kAll->end()) {
      codes.insert(found->second);
    }
  }
  return codes;
}

std::string ClassOf(const std::string& function) {
  const size_t colons = function.rfind("::");
  return colons == std::string::npos ? "" : function.substr(0, colons);
}

// The name of the function that `declaration` declares, if it gives a status.
std::string FunctionThatGivesAStatus(const std::string& declaration) {
  static const std::regex kGives(
      R"(^(?!using |friend )([^()]*(absl::Status(Or<.*>)? |Awaitable(<.*>)? )\w+\(|.*\bvoid\(absl::Status))");
  static const std::regex kName(R"(\b(\w+)\()");
  std::smatch name;
  if (!std::regex_search(declaration, kGives)) return "";
  return std::regex_search(declaration, name, kName) ? name[1].str() : "";
}

}  // namespace

// Reads a header line by line.
class HeaderContract::Reader {
 public:
  explicit Reader(HeaderContract* contract) : contract_(contract) {}

  void ReadLine(const std::string& line) {
    const std::string text(absl::StripAsciiWhitespace(line));
    if (in_declaration_.empty() && text.empty()) comment_.clear();
    if (text.empty() || text[0] == '#') return;
    if (absl::StartsWith(text, "//")) {
      if (std::exchange(after_code_, false)) comment_.clear();
      absl::StrAppend(&comment_, text.substr(2), " ");
      return;
    }
    absl::StrAppend(&in_declaration_,
                    absl::StripTrailingAsciiWhitespace(text.substr(0, text.find("//"))), " ");
    if (IsComplete(in_declaration_)) ReadDeclaration(std::exchange(in_declaration_, ""));
  }

 private:
  struct Scope {
    std::string name;  // of a class, or ""
    bool is_public;
  };

  static bool IsComplete(const std::string& text) {
    static const std::regex kScope(
        R"(^((inline )?namespace\b.*|(template <.*> )?(class|struct)\b[^;(]*)\{ $|^[^({]*: $|^\}.* $)");
    if (std::regex_match(text, kScope)) return true;
    if (std::ranges::count(text, '{') != std::ranges::count(text, '}')) return false;
    if (std::ranges::count(text, '(') != std::ranges::count(text, ')')) return false;
    return absl::EndsWith(text, "; ") || absl::EndsWith(text, "} ");
  }

  void ReadDeclaration(const std::string& text) {
    static const std::regex kClass(
        R"(^(?:template <.*> )?(class|struct) (?:\[\[\w+\]\] )?([\w:]+)[^;(]*\{ $)");
    static const std::regex kHiddenNamespace(R"(^namespace.*\binternal \{ $)");
    std::smatch match;
    if (absl::StartsWith(text, "}")) {
      scopes_.pop_back();
    } else if (std::regex_match(text, match, kClass)) {
      const std::string name = match[2];
      if (IsPublic()) contract_->classes_[Qualified(name)] = EntryOfClass();
      scopes_.push_back({Qualified(name), match[1] == "struct"});
      comment_.clear();
    } else if (absl::StartsWith(text, "namespace")) {
      scopes_.push_back({"", !std::regex_match(text, kHiddenNamespace)});
    } else if (text == "public: " || text == "private: " || text == "protected: ") {
      scopes_.back().is_public = text == "public: ";
    } else if (IsPublic()) {
      ReadFunction(text);
    }
    after_code_ = true;
  }

  void ReadFunction(const std::string& text) {
    const std::string name = FunctionThatGivesAStatus(text);
    if (name.empty()) return;
    const Entry read = EntryOf(comment_);
    Entry& entry = contract_->functions_[Qualified(name)];  // that of all overloads
    entry.codes.insert(read.codes.begin(), read.codes.end());
    entry.references.insert(entry.references.end(), read.references.begin(), read.references.end());
  }

  Entry EntryOfClass() const {
    const size_t begin = comment_.find(kOfAllForms);
    return begin == std::string::npos ? Entry() : EntryOf(comment_.substr(begin));
  }
  std::string Qualified(const std::string& name) const {
    const std::string outer = scopes_.empty() ? "" : scopes_.back().name;
    return outer.empty() ? name : outer + "::" + name;
  }
  bool IsPublic() const {
    return std::ranges::all_of(scopes_, [](const Scope& scope) { return scope.is_public; });
  }

  HeaderContract* const contract_;
  std::vector<Scope> scopes_;
  std::string comment_;
  std::string in_declaration_;
  bool after_code_ = false;
};

void HeaderContract::Read(const std::string& header) {
  Reader reader(this);
  std::istringstream lines(header);
  for (std::string line; std::getline(lines, line);) reader.ReadLine(line);
}

HeaderContract::Entry HeaderContract::EntryOf(const std::string& comment) {
  static const std::regex kReference(
      R"(Errors(?: of all forms)?: as ([A-Z][\w:]*(?:, [A-Z][\w:]*)*))");
  Entry entry{CodesNamedIn(comment), {}};
  for (std::sregex_iterator it(comment.begin(), comment.end(), kReference), end; it != end; ++it) {
    for (const absl::string_view name : absl::StrSplit((*it)[1].str(), ", ")) {
      entry.references.emplace_back(name.substr(0, name.find_last_not_of(':') + 1));
    }
  }
  return entry;
}

std::set<std::string> HeaderContract::functions() const {
  std::set<std::string> names;
  for (const auto& [name, entry] : functions_) names.insert(name);
  return names;
}

std::string HeaderContract::Resolve(const std::string& function,
                                    const std::string& reference) const {
  const std::string inside = absl::StrCat(ClassOf(function), "::", reference);
  for (const std::string& name : {inside, reference}) {
    if (functions_.contains(name) || classes_.contains(name)) return name;
  }
  return "";
}

// `name` is that of a function or a class.
void HeaderContract::Collect(const std::string& name, std::set<std::string>& seen,
                             Codes& codes) const {
  if (name.empty() || !seen.insert(name).second) return;
  const bool is_function = functions_.contains(name);
  if (!is_function && !classes_.contains(name)) return;
  const Entry& entry = is_function ? functions_.at(name) : classes_.at(name);
  codes.insert(entry.codes.begin(), entry.codes.end());
  for (const std::string& other : entry.references) Collect(Resolve(name, other), seen, codes);
  if (!is_function) return;
  Collect(ClassOf(name), seen, codes);
  std::smatch other_form;
  static const std::regex kOtherForm(R"(^(.*::)?(?:Co([A-Z]\w*)|(\w+)Async)$)");
  if (std::regex_match(name, other_form, kOtherForm)) {
    Collect(absl::StrCat(other_form[1].str(), other_form[2].str(), other_form[3].str()), seen,
            codes);
  }
}

Codes HeaderContract::CodesOf(const std::string& function) const {
  Codes codes = {absl::StatusCode::kOk};
  std::set<std::string> seen;
  Collect(function, seen, codes);
  return codes;
}

std::vector<std::string> HeaderContract::Dangling() const {
  std::vector<std::string> dangling;
  for (const auto* entries : {&functions_, &classes_}) {
    for (const auto& [name, entry] : *entries) {
      for (const std::string& other : entry.references) {
        if (Resolve(name, other).empty()) dangling.push_back(name + " refers to " + other);
      }
    }
  }
  return dangling;
}

}  // namespace zkrecipes::testing
