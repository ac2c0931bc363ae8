// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_CONTRACTS_HEADER_CONTRACT_FIXTURE_H_
#define ZKRECIPES_RECIPES_CONTRACTS_HEADER_CONTRACT_FIXTURE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace zkrecipes::testing {

// Which codes the comments of public headers list, by function: "Lock::Acquire". How a header says so:
//
//   - The name of a code, such as Aborted, in the comment above a function lists it. A comment is above
//     all functions that follow, up to an empty line or the next comment.
//   - "Errors of all forms:" in the comment of a class begins those of all its functions.
//   - "Errors: as Lock" or "Errors: as Campaign, Lock::Acquire" lists those of these classes and
//     functions, too. A name is first looked for in the class.
//   - FooAsync and CoFoo give what Foo gives, too.
//
// Only functions that give a status count: as their result, to a callback, or to a co_await.
class HeaderContract {
 public:
  void Read(const std::string& header);  // the text

  std::set<std::string> functions() const;
  // "Foo lists ..." for `function`, with all that it refers to. OK is listed by all.
  std::set<absl::StatusCode> CodesOf(const std::string& function) const;
  // References to what does not exist.
  std::vector<std::string> Dangling() const;

 private:
  struct Entry {
    std::set<absl::StatusCode> codes;
    std::vector<std::string> references;
  };
  class Reader;

  static Entry EntryOf(const std::string& comment);
  // "Lock::Acquire" for "Acquire" in "Lock", or "" if there is no such class or function.
  std::string Resolve(const std::string& function, const std::string& reference) const;
  void Collect(const std::string& name, std::set<std::string>& seen,
               std::set<absl::StatusCode>& codes) const;

  std::map<std::string, Entry> functions_;
  std::map<std::string, Entry> classes_;
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_RECIPES_CONTRACTS_HEADER_CONTRACT_FIXTURE_H_
